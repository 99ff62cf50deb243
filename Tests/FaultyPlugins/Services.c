/* Uses outlet.http/1 and outlet.timer/1: the exports send requests and start timers. If "token" is
 * set, adapt fetches that URL and adds the response's body as X-Token. If "late" is set, adapt asks
 * for outlet.http/1. If "report" is set, request_done sends a request to that URL. That is allowed;
 * the host must end all requests and timers before quiesce.
 *
 * Three plugins: the host must refuse "faulty.needy", which needs an unknown service, and
 * "faulty.poor", which needs outlet.http/1 without a permission for a server. */
#include "faulty.h"
#include <pthread.h>
#include <stdio.h>

struct services {
    outlet_instance base;
    const outlet_http *http;
    const outlet_timers *timers;
    char token[128], report[128];
    pthread_mutex_t mutex;
    outlet_exchange exchange;
    outlet_timer timer;
    int done, fired, cancelled, adapted;
    char last[256];
};

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct services *self = calloc(1, sizeof *self);
    const void *table;
    outlet_view value;
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    pthread_mutex_init(&self->mutex, NULL);
    if (host->config_value(host, call, outlet_text("late"), &value) != OUTLET_OK &&
        host->extension(host, outlet_text(OUTLET_HTTP_1), &table) == OUTLET_OK) {
        self->http = table;
    }
    if (host->extension(host, outlet_text(OUTLET_TIMER_1), &table) == OUTLET_OK) {
        self->timers = table;
    }
    if (host->config_value(host, call, outlet_text("token"), &value) == OUTLET_OK &&
        value.len < sizeof self->token) {
        memcpy(self->token, value.ptr, value.len);
    }
    if (host->config_value(host, call, outlet_text("report"), &value) == OUTLET_OK &&
        value.len < sizeof self->report) {
        memcpy(self->report, value.ptr, value.len);
    }
    *out = &self->base;
    return OUTLET_OK;
}

/* Stores the status, the error code and the body as the text of the export "last". */
static void keep(struct services *self, outlet_response response) {
    const outlet_host *host = self->base.host;
    outlet_response_snapshot seen = {.struct_size = sizeof seen};
    outlet_view body = {0};
    pthread_mutex_lock(&self->mutex);
    if (host->response_snapshot(host, response, &seen) == OUTLET_OK &&
        host->response_body(host, response, &body) == OUTLET_OK) {
        snprintf(self->last, sizeof self->last, "%d %.*s%.*s", seen.status, (int)seen.error_code.len,
                 (const char *)seen.error_code.ptr, (int)body.len, (const char *)body.ptr);
    }
    self->done++;
    pthread_mutex_unlock(&self->mutex);
}

static void fetched(outlet_instance *instance, outlet_call call, outlet_response response,
                    void *data) {
    (void)call, (void)data;
    keep((struct services *)instance, response);
}

static outlet_status fetch(outlet_instance *instance, outlet_view url) {
    struct services *self = (struct services *)instance;
    /* A URL with the prefix "!" is fetched without redirects, one with "?" with an unknown flag. */
    const uint32_t flags = url.len == 0         ? 0
                           : url.ptr[0] == '!' ? OUTLET_HTTP_NO_REDIRECTS
                           : url.ptr[0] == '?' ? 1u << 31
                                                : 0;
    const outlet_view rest = {url.ptr + (flags != 0), url.len - (flags != 0)};
    const outlet_http_request request = {.struct_size = sizeof request, .flags = flags, .url = rest};
    const outlet_call none = {0};
    outlet_exchange exchange;
    outlet_status status =
        self->http->send(instance->host, none, &request, fetched, NULL, &exchange);
    pthread_mutex_lock(&self->mutex);
    if (status == OUTLET_OK) self->exchange = exchange;
    pthread_mutex_unlock(&self->mutex);
    return status;
}

/* Sends a request with a method, one header field and a body to http://a.example/. */
static outlet_status send_with(outlet_instance *instance, outlet_view method, outlet_view name,
                               outlet_view body) {
    struct services *self = (struct services *)instance;
    const outlet_field field = {name, outlet_text("1")};
    const outlet_http_request request = {.struct_size = sizeof request,
                                         .method = method,
                                         .url = outlet_text("http://a.example/"),
                                         .fields = &field,
                                         .field_count = 1,
                                         .body = body};
    const outlet_call none = {0};
    outlet_exchange exchange;
    return self->http->send(instance->host, none, &request, fetched, NULL, &exchange);
}

/* A pending adapt, until its token has arrived. */
struct waiting {
    outlet_request request;
    outlet_completion completion;
};

static void got_token(outlet_instance *instance, outlet_call call, outlet_response response,
                      void *data) {
    const outlet_host *host = instance->host;
    struct waiting *waiting = data;
    outlet_view token = {0};
    outlet_status status = host->response_body(host, response, &token);
    (void)call;
    if (status == OUTLET_OK) {
        status = host->request_set_header(host, waiting->request, outlet_text("X-Token"), token);
    }
    keep((struct services *)instance, response);
    host->done(host, waiting->completion, status, outlet_text(""), outlet_text(""));
    free(waiting);
}

static outlet_status adapt(outlet_instance *instance, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    struct services *self = (struct services *)instance;
    const outlet_http_request asked = {.struct_size = sizeof asked, .url = outlet_text(self->token)};
    struct waiting *waiting = malloc(sizeof *waiting);
    outlet_exchange exchange;
    outlet_status status;
    const void *table;
    pthread_mutex_lock(&self->mutex);
    self->adapted++;
    if (self->http == NULL &&
        instance->host->extension(instance->host, outlet_text(OUTLET_HTTP_1), &table) == OUTLET_OK) {
        self->http = table;
    }
    pthread_mutex_unlock(&self->mutex);
    if (waiting == NULL) return OUTLET_E_FAILED;
    waiting->request = request;
    waiting->completion = completion;
    status = self->http->send(instance->host, call, &asked, got_token, waiting, &exchange);
    if (status == OUTLET_OK) return OUTLET_PENDING;
    free(waiting);
    return status;
}

static outlet_status prepare(outlet_instance *instance, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)instance, (void)call, (void)request, (void)completion;
    return OUTLET_OK;
}

static void request_done(outlet_instance *instance, outlet_call call, outlet_request request) {
    struct services *self = (struct services *)instance;
    const outlet_http_request told = {.struct_size = sizeof told, .url = outlet_text(self->report)};
    outlet_exchange exchange;
    (void)request;
    self->http->send(instance->host, call, &told, fetched, NULL, &exchange);
}

static int32_t give_up(outlet_instance *instance) {
    struct services *self = (struct services *)instance;
    return self->http->cancel(instance->host, self->exchange);
}

static void rang(outlet_instance *instance, outlet_call call, outlet_status status, void *data) {
    struct services *self = (struct services *)instance;
    (void)call, (void)data;
    pthread_mutex_lock(&self->mutex);
    if (status == OUTLET_OK) {
        self->fired++;
    } else {
        self->cancelled++;
    }
    pthread_mutex_unlock(&self->mutex);
}

static int32_t start(outlet_instance *instance, uint64_t delay) {
    struct services *self = (struct services *)instance;
    return self->timers->start(instance->host, delay, rang, NULL, &self->timer);
}

static int32_t stop(outlet_instance *instance) {
    struct services *self = (struct services *)instance;
    return self->timers->cancel(instance->host, self->timer);
}

/* Starts timers and cancels them, while none of their ends can be counted; returns how many were
 * started. */
static int32_t churn(outlet_instance *instance, int32_t count) {
    struct services *self = (struct services *)instance;
    int32_t started = 0;
    pthread_mutex_lock(&self->mutex);
    for (int32_t i = 0; i < count; i++) {
        if (start(instance, UINT64_C(3600000000000)) != OUTLET_OK) continue;
        started++;
        stop(instance);
    }
    pthread_mutex_unlock(&self->mutex);
    return started;
}

/* Logs the counters: all requests and timers must have ended before quiesce. */
static outlet_status quiesce(outlet_instance *instance, outlet_call call) {
    struct services *self = (struct services *)instance;
    const outlet_host *host = instance->host;
    char text[64];
    (void)call;
    snprintf(text, sizeof text, "%d done, %d fired, %d cancelled", self->done, self->fired,
             self->cancelled);
    const outlet_call none = {0};
    host->log(host, none, OUTLET_LOG_INFO, outlet_text(text), NULL, 0);
    return OUTLET_OK;
}

static outlet_status last(outlet_instance *instance, outlet_sink sink) {
    struct services *self = (struct services *)instance;
    return instance->host->sink_write(instance->host, sink, outlet_text(self->last));
}

#define COUNT(name_, field_)                                 \
    static int32_t name_(outlet_instance *instance) {        \
        struct services *self = (struct services *)instance; \
        int32_t count;                                       \
        pthread_mutex_lock(&self->mutex);                    \
        count = self->field_;                                \
        pthread_mutex_unlock(&self->mutex);                  \
        return count;                                        \
    }
COUNT(done, done)
COUNT(fired, fired)
COUNT(cancelled, cancelled)
COUNT(adapted, adapted)

#define EXPORT(name_, signature_)                                          \
    static const outlet_export export_##name_ = {                          \
        sizeof(outlet_export),   OUTLET_X_ANY_THREAD, OUTLET_TEXT(#name_), \
        OUTLET_TEXT(signature_), OUTLET_TEXT(""),     (outlet_function)name_}
EXPORT(fetch, "i(s)");
EXPORT(send_with, "i(sss)");
EXPORT(give_up, "i()");
EXPORT(start, "i(L)");
EXPORT(stop, "i()");
EXPORT(churn, "i(i)");
EXPORT(last, "e(o)");
EXPORT(done, "i()");
EXPORT(fired, "i()");
EXPORT(cancelled, "i()");
EXPORT(adapted, "i()");

static const outlet_export *const exports[] = {
    &export_fetch, &export_send_with, &export_give_up,   &export_start,  &export_stop,
    &export_churn, &export_last,  &export_done,      &export_fired,     &export_cancelled, &export_adapted};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .adapt = adapt};

static const outlet_hooks reporting = {
    .struct_size = sizeof(outlet_hooks), .prepare = prepare, .request_done = request_done};

static const outlet_hooks *hooks(outlet_instance *instance) {
    const struct services *self = (const struct services *)instance;
    if (self->report[0] != 0) return &reporting;
    return self->token[0] == 0 ? NULL : &table;
}

static const outlet_view needed[] = {OUTLET_TEXT("outlet.http/1"), OUTLET_TEXT("outlet.timer/1")};
static const outlet_view unknown[] = {OUTLET_TEXT("outlet.http/9")};

static const outlet_view permissions[] = {OUTLET_TEXT("net:*.example"), OUTLET_TEXT("net:a.example"),
                                          OUTLET_TEXT("net:plain.test:80")};

static const outlet_descriptor user = {
    .struct_size = sizeof(outlet_descriptor),
    .flags = OUTLET_F_CONCURRENT,
    .id = OUTLET_TEXT("faulty.services"),
    .version = OUTLET_TEXT("1.0.0"),
    .create = create,
    .destroy = unmake,
    .exports = exports,
    .export_count = sizeof exports / sizeof exports[0],
    .hooks = hooks,
    .quiesce = quiesce,
    .permissions = permissions,
    .permission_count = 3,
    .required_services = needed,
    .required_service_count = 2};
/* Needs the service, but has no permission for a server. */
static const outlet_descriptor poor = {DESCRIPTOR("faulty.poor"), .required_services = needed,
                                       .required_service_count = 1};
static const outlet_descriptor needy = {DESCRIPTOR("faulty.needy"), .required_services = unknown,
                                        .required_service_count = 1};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_descriptor *const descriptors[] = {&user, &needy, &poor};
    static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 3, descriptors};
    (void)host_minor;
    return &module;
}

/* Serializes responses, receives events and checks servers. Only "faulty.judging-slowly" breaks a
 * rule.
 *
 * Settings: "trust" is the host that trust refuses; "slow" makes on_events block until the export
 * "release" is called.
 *
 * Three plugins: "faulty.extras" has serialize and on_events, "faulty.judging" has trust.
 * "faulty.judging-slowly" has trust without OUTLET_F_NONBLOCKING, so the host must refuse it. */
#include "faulty.h"
#include <pthread.h>
#include <stdio.h>

struct extras {
    outlet_instance base;
    char refused[64];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int is_slow, is_waiting, is_released, asked;
    uint64_t told, dropped;
};

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct extras *self = calloc(1, sizeof *self);
    outlet_view value;
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    if (host->config_value(host, call, outlet_text("trust"), &value) == OUTLET_OK &&
        value.len < sizeof self->refused) {
        memcpy(self->refused, value.ptr, value.len);
    }
    self->is_slow = host->config_value(host, call, outlet_text("slow"), &value) == OUTLET_OK;
    *out = &self->base;
    return OUTLET_OK;
}

/* Writes the status and the reversed body.
 *
 * Fails for the body "bad"; returns a type that is not UTF-8 for the body "odd". */
static outlet_status serialize(outlet_instance *self, outlet_call call, outlet_request request,
                               outlet_response response, outlet_sink sink, outlet_view *type) {
    const outlet_host *host = self->host;
    outlet_view body, url;
    char text[16];
    int32_t status = 0;
    if (host->response_body(host, response, &body) != OUTLET_OK ||
        host->request_url(host, request, &url) != OUTLET_OK ||
        host->response_status(host, response, &status) != OUTLET_OK) {
        return OUTLET_E_STATE;
    }
    if (body.len == 3 && memcmp(body.ptr, "bad", 3) == 0) {
        host->fail(host, call, outlet_text("bad-body"), outlet_text("it is bad"));
        return OUTLET_E_FAILED;
    }
    snprintf(text, sizeof text, "%d ", status);
    host->sink_write(host, sink, outlet_text(text));
    for (uint64_t i = body.len; i > 0; i--) {
        const outlet_view byte = {body.ptr + i - 1, 1};
        host->sink_write(host, sink, byte);
    }
    *type = body.len == 3 && memcmp(body.ptr, "odd", 3) == 0 ? outlet_text("\xff")
                                                             : outlet_text("x.turned");
    return OUTLET_OK;
}

static void on_events(outlet_instance *instance, outlet_call call, const outlet_events *events) {
    struct extras *self = (struct extras *)instance;
    const outlet_host *host = instance->host;
    for (uint64_t i = 0; i < events->count; i++) {
        const outlet_event *event = outlet_event_at(events, i);
        char text[256];
        snprintf(text, sizeof text, "%u a=%lld b=%lld %.*s id=%d", event->kind, (long long)event->a,
                 event->kind == OUTLET_EVENT_MEASURED ? -1 : (long long)event->b, (int)event->text.len,
                 (const char *)event->text.ptr, (int)event->request_id.len);
        host->log(host, call, OUTLET_LOG_INFO, outlet_text(text), NULL, 0);
    }
    pthread_mutex_lock(&self->mutex);
    self->told += events->count;
    self->dropped += events->dropped;
    while (self->is_slow && !self->is_released) {
        self->is_waiting = 1;
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
}

static outlet_status trust(outlet_instance *instance, outlet_call call, const outlet_trust *server) {
    struct extras *self = (struct extras *)instance;
    const outlet_host *host = instance->host;
    pthread_mutex_lock(&self->mutex);
    self->asked++;
    pthread_mutex_unlock(&self->mutex);
    if (server->certificate_count == 0 || server->certificates[0].len == 0) return OUTLET_E_ARGUMENT;
    if (server->host.len != strlen(self->refused) ||
        memcmp(server->host.ptr, self->refused, server->host.len) != 0) {
        return OUTLET_OK;
    }
    host->fail(host, call, outlet_text("not-pinned"), outlet_text("it is not pinned"));
    return OUTLET_E_DENIED;
}

static int32_t release(outlet_instance *instance) {
    struct extras *self = (struct extras *)instance;
    pthread_mutex_lock(&self->mutex);
    self->is_released = 1;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    return 0;
}

#define COUNT(name_, field_)                             \
    static int64_t name_(outlet_instance *instance) {    \
        struct extras *self = (struct extras *)instance; \
        int64_t count;                                   \
        pthread_mutex_lock(&self->mutex);                \
        count = (int64_t)self->field_;                   \
        pthread_mutex_unlock(&self->mutex);              \
        return count;                                    \
    }
COUNT(asked, asked)
COUNT(waiting, is_waiting)
COUNT(told, told)
COUNT(dropped, dropped)

#define EXPORT(name_, signature_)                                          \
    static const outlet_export export_##name_ = {                          \
        sizeof(outlet_export),   OUTLET_X_ANY_THREAD, OUTLET_TEXT(#name_), \
        OUTLET_TEXT(signature_), OUTLET_TEXT(""),     (outlet_function)name_}
EXPORT(release, "i()");
EXPORT(asked, "l()");
EXPORT(waiting, "l()");
EXPORT(told, "l()");
EXPORT(dropped, "l()");

static const outlet_export *const exports[] = {&export_release, &export_asked, &export_waiting,
                                               &export_told, &export_dropped};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .serialize = serialize,
                                   .event_mask = OUTLET_EVENTS_ALL &
                                                 ~OUTLET_EVENT_BIT(OUTLET_EVENT_RESUMED),
                                   .on_events = on_events};
static const outlet_hooks trust_table = {.struct_size = sizeof(outlet_hooks), .trust = trust};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_hooks *trust_hooks(outlet_instance *self) {
    (void)self;
    return &trust_table;
}

#define EXTRAS(id_)                                                                              \
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT(id_),                            \
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .exports = exports,    \
    .export_count = sizeof exports / sizeof exports[0]

static const outlet_descriptor watching = {EXTRAS("faulty.extras"), .hooks = hooks};
static const outlet_descriptor judging = {
    EXTRAS("faulty.judging"), .flags = OUTLET_F_NONBLOCKING | OUTLET_F_CONCURRENT,
    .hooks = trust_hooks};
static const outlet_descriptor blocking = {EXTRAS("faulty.judging-slowly"), .hooks = trust_hooks};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_descriptor *const descriptors[] = {&watching, &judging, &blocking};
    static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 3, descriptors};
    (void)host_minor;
    return &module;
}

/* Implements finalize and redirect; that is allowed. The host must refuse changes that these hooks
 * may not make. The settings "finalize" and "redirect" say what the hooks do:
 *
 *   sign     adds a checksum of the body, read in pieces of seven bytes (finalize only)
 *   read     reads the body (finalize only)
 *   stop     reads the beginning of the body, and fails (finalize only)
 *   once     as stop, in the first attempt only (finalize only)
 *   deny     settles its completion with OUTLET_E_DENIED, and fails, which it must not (finalize only)
 *   pend     returns OUTLET_PENDING; the export "release" settles the completion
 *   fail     fails with a code
 *   probe    tries to change every part of the request; "seen" returns the statuses
 *   take     takes the redirect as the response (redirect only)
 *   other    a URL, to which the redirect is changed (redirect only)
 *
 * finalize logs the header fields. Two plugins: "faulty.wire-quick" has OUTLET_F_NONBLOCKING. */
#include "faulty.h"
#include <pthread.h>
#include <stdio.h>

struct wire {
    outlet_instance base;
    char finalize[64], redirect[64], seen[256];
    pthread_mutex_t mutex;
    outlet_completion promised;
    int pending, cancels, calls;
};

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct wire *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    pthread_mutex_init(&self->mutex, NULL);
    setting(host, call, "finalize", self->finalize, sizeof self->finalize);
    setting(host, call, "redirect", self->redirect, sizeof self->redirect);
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status promise(struct wire *self, outlet_completion completion) {
    pthread_mutex_lock(&self->mutex);
    self->promised = completion;
    self->pending++;
    pthread_mutex_unlock(&self->mutex);
    return OUTLET_PENDING;
}

static outlet_status sign(struct wire *self, outlet_request request, int is_set) {
    const outlet_host *host = self->base.host;
    uint8_t piece[7];
    uint64_t offset = 0, count = 0;
    unsigned long sum = 0;
    char text[64];
    /* A null buffer without capacity is allowed. */
    outlet_status status = host->request_body_read(host, request, 0, NULL, 0, &count);
    if (status != OUTLET_OK || count != 0) return OUTLET_E_STATE;
    do {
        status = host->request_body_read(host, request, offset, piece, sizeof piece, &count);
        if (status != OUTLET_OK) return status;
        for (uint64_t i = 0; i < count; i++) sum = sum * 31 + piece[i];
        offset += count;
    } while (count > 0);
    snprintf(text, sizeof text, "%lu-%lu", (unsigned long)offset, sum);
    if (!is_set) return OUTLET_OK;
    return host->request_set_header(host, request, outlet_text("X-Signature"), outlet_text(text));
}

static void probe(struct wire *self, outlet_request request) {
    const outlet_host *host = self->base.host;
    const outlet_view value = outlet_text("v"), body = outlet_text("b");
    snprintf(self->seen, sizeof self->seen, "%d %d %d %d %d %d %d %d",
             host->request_set_method(host, request, outlet_text("PUT")),
             host->request_set_url(host, request, outlet_text("http://other.example/")),
             host->request_set_body(host, request, body),
             host->request_answer(host, request, 200, NULL, 0, body),
             host->request_set_header(host, request, outlet_text("host"), value),
             host->request_remove_header(host, request, outlet_text("Content-Length")),
             host->request_set_header(host, request, outlet_text("X-Probe"), value),
             host->request_set_attr(host, request, outlet_text("x.probe"), value));
}

static outlet_status finalize(outlet_instance *instance, outlet_call call, outlet_request request,
                              outlet_completion completion) {
    struct wire *self = (struct wire *)instance;
    const outlet_host *host = instance->host;
    outlet_request_snapshot snapshot = {.struct_size = sizeof snapshot};
    if (host->request_snapshot(host, request, &snapshot) != OUTLET_OK) return OUTLET_E_STATE;
    for (uint64_t i = 0; i < snapshot.field_count; i++) {
        host->log(host, call, OUTLET_LOG_INFO, snapshot.fields[i].name, &snapshot.fields[i], 1);
    }
    pthread_mutex_lock(&self->mutex);
    self->calls++;
    pthread_mutex_unlock(&self->mutex);
    if (strcmp(self->finalize, "sign") == 0) return sign(self, request, 1);
    if (strcmp(self->finalize, "read") == 0) return sign(self, request, 0);
    if (strcmp(self->finalize, "deny") == 0) {
        host->done(host, completion, OUTLET_E_DENIED, outlet_text("no"), outlet_text("not this"));
        return OUTLET_E_FAILED;
    }
    if (strcmp(self->finalize, "stop") == 0 ||
        (strcmp(self->finalize, "once") == 0 && self->calls == 1)) {
        uint8_t piece[3];
        uint64_t count;
        host->request_body_read(host, request, 0, piece, sizeof piece, &count);
        return OUTLET_E_FAILED;
    }
    if (strcmp(self->finalize, "pend") == 0) return promise(self, completion);
    if (strcmp(self->finalize, "probe") == 0) probe(self, request);
    if (strcmp(self->finalize, "fail") == 0) {
        host->fail(host, call, outlet_text("not-allowed"), outlet_text("it is not allowed"));
        return OUTLET_E_DENIED;
    }
    return OUTLET_OK;
}

static outlet_status redirect(outlet_instance *instance, outlet_call call, outlet_request request,
                              outlet_response response, outlet_request next,
                              outlet_completion completion) {
    struct wire *self = (struct wire *)instance;
    const outlet_host *host = instance->host;
    outlet_view from, to;
    int32_t status;
    if (host->request_url(host, request, &from) != OUTLET_OK ||
        host->request_url(host, next, &to) != OUTLET_OK ||
        host->response_status(host, response, &status) != OUTLET_OK) {
        return OUTLET_E_STATE;
    }
    const outlet_field fact = {from, to};
    host->log(host, call, OUTLET_LOG_INFO, outlet_text("redirect"), &fact, 1);
    if (self->redirect[0] == 0) return OUTLET_OK;
    if (strcmp(self->redirect, "pend") == 0) return promise(self, completion);
    if (strcmp(self->redirect, "probe") == 0) {
        probe(self, next);
        return OUTLET_OK;
    }
    if (strcmp(self->redirect, "take") == 0) {
        host->redirect_done(host, completion, OUTLET_REDIRECT_TAKE, outlet_text(""), outlet_text(""));
        return OUTLET_OK;
    }
    if (strcmp(self->redirect, "fail") == 0) {
        host->redirect_done(host, completion, OUTLET_REDIRECT_FAIL, outlet_text("not-allowed"),
                            outlet_text("it is not allowed"));
        return OUTLET_OK;
    }
    return host->request_set_url(host, next, outlet_text(self->redirect));
}

static void cancel(outlet_instance *instance, outlet_completion completion) {
    struct wire *self = (struct wire *)instance;
    (void)completion;
    pthread_mutex_lock(&self->mutex);
    self->cancels++;
    pthread_mutex_unlock(&self->mutex);
}

static int32_t release(outlet_instance *instance) {
    struct wire *self = (struct wire *)instance;
    const outlet_host *host = instance->host;
    const outlet_view none = outlet_text("");
    outlet_status status = host->done(host, self->promised, OUTLET_OK, none, none);
    if (status != OUTLET_E_ARGUMENT) return status;
    return host->redirect_done(host, self->promised, OUTLET_REDIRECT_FOLLOW, none, none);
}

static outlet_status seen(outlet_instance *instance, outlet_sink sink) {
    struct wire *self = (struct wire *)instance;
    return instance->host->sink_write(instance->host, sink, outlet_text(self->seen));
}

#define COUNT(name_, field_)                          \
    static int32_t name_(outlet_instance *instance) { \
        struct wire *self = (struct wire *)instance;  \
        int32_t count;                                \
        pthread_mutex_lock(&self->mutex);             \
        count = self->field_;                         \
        pthread_mutex_unlock(&self->mutex);           \
        return count;                                 \
    }
COUNT(pending, pending)
COUNT(cancels, cancels)
COUNT(calls, calls)

#define EXPORT(name_, signature_)                                                      \
    static const outlet_export export_##name_ = {                                      \
        sizeof(outlet_export),   OUTLET_X_ANY_THREAD, OUTLET_TEXT(#name_),             \
        OUTLET_TEXT(signature_), OUTLET_TEXT(""),     (outlet_function)name_}
EXPORT(release, "i()");
EXPORT(pending, "i()");
EXPORT(cancels, "i()");
EXPORT(calls, "i()");
EXPORT(seen, "e(o)");

static const outlet_export *const exports[] = {&export_release, &export_pending, &export_cancels,
                                               &export_calls, &export_seen};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .cancel = cancel,
                                   .finalize = finalize,
                                   .redirect = redirect};

/* Only the plugin that the test configures has hooks. */
static const outlet_hooks *hooks(outlet_instance *instance) {
    struct wire *self = (struct wire *)instance;
    return self->finalize[0] == 0 && self->redirect[0] == 0 ? NULL : &table;
}

#define WIRE(id_)                                                                             \
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT(id_),                         \
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .exports = exports, \
    .export_count = sizeof exports / sizeof exports[0], .hooks = hooks

static const outlet_descriptor blocking = {WIRE("faulty.wire"), .flags = OUTLET_F_CONCURRENT};
static const outlet_descriptor quick = {WIRE("faulty.wire-quick"),
                                        .flags = OUTLET_F_CONCURRENT | OUTLET_F_NONBLOCKING};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_descriptor *const descriptors[] = {&blocking, &quick};
    static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 2, descriptors};
    (void)host_minor;
    return &module;
}

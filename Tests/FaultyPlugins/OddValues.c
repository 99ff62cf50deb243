/* Returns or passes statuses, verdicts and views that the ABI does not define, or settles a
 * completion and then fails; its configuration says where ("mode"). The host must treat each as
 * a failure. With "quiesce-directory" it changes the current directory there. */
#include "faulty.h"
#include <unistd.h>

struct odd {
    outlet_instance base;
    char mode[24];
};

static int is(outlet_instance *self, const char *mode) {
    return strcmp(((struct odd *)self)->mode, mode) == 0;
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    struct odd *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "mode", self->mode, sizeof self->mode);
    if (is(&self->base, "create")) {
        free(self);
        return 77;
    }
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)call, (void)request, (void)completion;
    return is(self, "prepare") ? 77 : OUTLET_OK;
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)call, (void)request, (void)response, (void)completion;
    return is(self, "process") ? 77 : OUTLET_OK;
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    const outlet_host *host = self->host;
    (void)request;
    if (is(self, "adapt")) return 77;
    if (is(self, "adapt_done")) {
        host->done(host, completion, 77, outlet_text(""), outlet_text(""));
        return OUTLET_PENDING;
    }
    if (is(self, "adapt_done null")) {
        const outlet_view null = {NULL, 5};
        host->done(host, completion, OUTLET_E_DENIED, outlet_text(""), null);
        return OUTLET_PENDING;
    }
    if (is(self, "adapt_done and fail")) {
        host->done(host, completion, OUTLET_OK, outlet_text(""), outlet_text(""));
        host->fail(host, call, outlet_text(""), outlet_text("the second thought"));
        return OUTLET_E_FAILED;
    }
    return OUTLET_OK;
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    (void)call, (void)request, (void)response, (void)attempt;
    if (is(self, "retry_done and fail")) {
        self->host->retry_done(self->host, completion, OUTLET_RETRY_NOW, 0, outlet_text(""),
                               outlet_text(""));
        return OUTLET_E_FAILED;
    }
    if (is(self, "retry_done")) {
        self->host->retry_done(self->host, completion, 77, 0, outlet_text(""), outlet_text(""));
        return OUTLET_PENDING;
    }
    return is(self, "retry") ? 77 : OUTLET_OK;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .process = process,
                                   .adapt = adapt,
                                   .retry = retry};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static outlet_status quiesce(outlet_instance *self, outlet_call call) {
    if (is(self, "quiesce-reason")) {
        self->host->fail(self->host, call, outlet_text(""), outlet_text("the file is full"));
        return OUTLET_E_FAILED;
    }
    if (is(self, "quiesce-directory") && chdir("/proc") != 0) abort();
    return is(self, "quiesce") ? 42 : OUTLET_OK;
}

static outlet_status odd(outlet_instance *self) {
    (void)self;
    return 77;
}

static const outlet_export odd_export = {sizeof(outlet_export), 0, OUTLET_TEXT("odd"),
                                         OUTLET_TEXT("e()"), OUTLET_TEXT("Returns 77."),
                                         (outlet_function)odd};
static outlet_status fine(outlet_instance *self) {
    (void)self;
    return OUTLET_OK;
}

static outlet_status late(outlet_instance *self, outlet_call call) {
    self->host->fail(self->host, call, outlet_text(""), outlet_text("not yet"));
    return OUTLET_PENDING;
}

static const outlet_export late_export = {sizeof(outlet_export), 0, OUTLET_TEXT("late"),
                                          OUTLET_TEXT("e(c)"), OUTLET_TEXT("Returns OUTLET_PENDING."),
                                          (outlet_function)late};
static const outlet_export fine_export = {sizeof(outlet_export), 0, OUTLET_TEXT("fine"),
                                          OUTLET_TEXT("e()"), OUTLET_TEXT("Succeeds."),
                                          (outlet_function)fine};
static const outlet_export *const exports[] = {&odd_export, &fine_export, &late_export};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.odd-values"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .quiesce = quiesce,
    .destroy = unmake, .exports = exports, .export_count = 3};
OUTLET_MODULE(descriptor)

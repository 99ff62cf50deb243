/* Fails the hook that its configuration names ("fail.hook"), with a reason; that is allowed. The
 * host must fail the request with this reason. With "retry", process tries to replace the outcome. */
#include "faulty.h"

struct failing {
    outlet_instance base;
    char hook[16];
};

static outlet_status fail(outlet_instance *self, outlet_call call, const char *hook) {
    if (strcmp(((struct failing *)self)->hook, hook) != 0) return OUTLET_OK;
    self->host->fail(self->host, call, outlet_text(""), outlet_text("the quota is used up"));
    return OUTLET_E_FAILED;
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    struct failing *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "fail.hook", self->hook, sizeof self->hook);
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)request, (void)completion;
    return fail(self, call, "prepare");
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    (void)request, (void)completion;
    return fail(self, call, "adapt");
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)request, (void)completion;
    if (strcmp(((struct failing *)self)->hook, "retry") == 0) {
        self->host->response_replace(self->host, response, 200, NULL, 0, outlet_text("replaced"));
    }
    return fail(self, call, "process");
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    (void)request, (void)response, (void)attempt;
    if (strcmp(((struct failing *)self)->hook, "retry") == 0) return fail(self, call, "retry");
    self->host->retry_done(self->host, completion, OUTLET_RETRY_NO, 0, outlet_text(""),
                           outlet_text(""));
    return OUTLET_OK;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .process = process,
                                   .retry = retry,
                                   .adapt = adapt};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.failing-hooks"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .destroy = unmake};
OUTLET_MODULE(descriptor)

/* Never comes back from the hook that its configuration names: hangs, or ends the process. */
#include "faulty.h"
#include <unistd.h>

struct hanging {
    outlet_instance base;
    char hook[16];
    char how[16];
};

static void hang_in(outlet_instance *self, const char *hook) {
    if (strcmp(((struct hanging *)self)->hook, hook) != 0) return;
    const char *how = ((struct hanging *)self)->how;
    if (strcmp(how, "exit") == 0) exit(0);
    if (strcmp(how, "quick_exit") == 0) quick_exit(0);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "fault") == 0) {
        volatile int *volatile nowhere = NULL;
        *nowhere = 1;
    }
    /* The tests wait for this. */
    if (write(STDOUT_FILENO, "hanging\n", 8) != 8) return;
    for (;;) pause();
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    struct hanging *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "hook", self->hook, sizeof self->hook);
    setting(host, call, "how", self->how, sizeof self->how);
    hang_in(&self->base, "create");
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    (void)call, (void)request, (void)completion;
    hang_in(self, "adapt");
    return OUTLET_OK;
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)call, (void)request, (void)completion;
    hang_in(self, "prepare");
    return OUTLET_OK;
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)call, (void)request;
    hang_in(self, "will_send");
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    (void)call, (void)request, (void)response, (void)attempt, (void)completion;
    hang_in(self, "retry");
    return OUTLET_OK;
}

static void did_receive(outlet_instance *self, outlet_call call, outlet_request request,
                        outlet_response response) {
    (void)call, (void)request, (void)response;
    hang_in(self, "did_receive");
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)call, (void)request, (void)response, (void)completion;
    hang_in(self, "process");
    return OUTLET_OK;
}

static int64_t function(outlet_instance *self) {
    hang_in(self, "call");
    return 0;
}

static outlet_status quiesce(outlet_instance *self, outlet_call call) {
    (void)call;
    hang_in(self, "quiesce");
    return OUTLET_OK;
}

static const outlet_export export = {sizeof(outlet_export), 0, OUTLET_TEXT("function"),
                                     OUTLET_TEXT("l()"), OUTLET_TEXT(""),
                                     (outlet_function)function};
static const outlet_export *const exports[] = {&export};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .will_send = will_send,
                                   .did_receive = did_receive,
                                   .process = process,
                                   .adapt = adapt,
                                   .retry = retry};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.hangs"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .quiesce = quiesce,
    .destroy = unmake, .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)

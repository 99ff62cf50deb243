/* Logs 5,000 lines in prepare, of the level that its configuration names ("level", a digit), and an error. With "what":
 * "refusals" it makes as many changes that the host refuses, each of which the host logs. The host must limit both. */
#include "faulty.h"

static char level[8] = "1", what[16];

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    setting(host, call, "level", level, sizeof level);
    setting(host, call, "what", what, sizeof what);
    return make(descriptor, host, call, config, out);
}

PREPARE {
    const outlet_host *host = self->host;
    (void)completion;
    for (int i = 0; i < 5000; i++) {
        if (strcmp(what, "refusals") == 0) {
            host->request_set_method(host, request, outlet_text("NO METHOD"));
        } else {
            outlet_status status =
                host->log(host, call, (uint32_t)(level[0] - '0'), outlet_text("again"), NULL, 0);
            if (status != OUTLET_OK && status != OUTLET_E_STATE) abort();
        }
    }
    host->log(host, call, OUTLET_LOG_ERROR, outlet_text("last"), NULL, 0);
    return OUTLET_OK;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.logs-often"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .destroy = unmake};
OUTLET_MODULE(descriptor)

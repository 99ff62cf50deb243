/* Its trust must not overlap with other calls. The function "hold" calls its caller, who may block it. It breaks no
 * rule. */
#include "faulty.h"

static outlet_status trust(outlet_instance *self, outlet_call call, const outlet_trust *server) {
    (void)self, (void)call, (void)server;
    return OUTLET_OK;
}

static uint8_t hold(outlet_instance *self, uint8_t (*wait)(void)) {
    (void)self;
    return wait();
}

static const outlet_export export = {sizeof(outlet_export),
                                     0,
                                     OUTLET_TEXT("hold"),
                                     OUTLET_TEXT("b(f{b()})"),
                                     OUTLET_TEXT("Calls its caller."),
                                     (outlet_function)hold};
static const outlet_export *const exports[] = {&export};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .trust = trust};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {.struct_size = sizeof(outlet_descriptor),
                                             .flags = OUTLET_F_NONBLOCKING,
                                             .id = OUTLET_TEXT("faulty.judges-in-turn"),
                                             .version = OUTLET_TEXT("1.0.0"),
                                             .create = make,
                                             .hooks = hooks,
                                             .destroy = unmake,
                                             .exports = exports,
                                             .export_count = 1};
OUTLET_MODULE(descriptor)

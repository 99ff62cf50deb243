/* The size of its hook table is "size" of its configuration, or 4: not the size of any table. The
 * host must refuse it, and must destroy the instance. */
#include "faulty.h"

static outlet_hooks table;

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    char digits[32] = "4";
    setting(host, call, "size", digits, sizeof digits);
    table.struct_size = (uint32_t)strtoul(digits, NULL, 10);
    return make(descriptor, host, call, config, out);
}

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.lying-hooks"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .hooks = hooks};
OUTLET_MODULE(descriptor)

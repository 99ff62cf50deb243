/* Two of its plugins have the same id. The host must start the first and refuse the second. */
#include "faulty.h"

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.doubled-id")};
static const outlet_descriptor *const descriptors[] = {&descriptor, &descriptor};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_module module = {
        sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 2, descriptors};
    (void)host_minor;
    return &module;
}

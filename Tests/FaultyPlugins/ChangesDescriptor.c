/* outlet_module_v1 returns the same module at each call, whose descriptor it changes; it must always return the same
 * one. The checker must report it. */
#include "faulty.h"

static outlet_descriptor descriptor = {DESCRIPTOR("faulty.changes-descriptor")};
static const outlet_descriptor *const descriptors[] = {&descriptor};
static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 1, descriptors};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static int count;
    (void)host_minor;
    if (count++ > 0) descriptor.flags ^= OUTLET_F_CONCURRENT;
    return &module;
}

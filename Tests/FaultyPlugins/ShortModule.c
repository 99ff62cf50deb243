/* Has a module table that ends before its descriptors. */
#include "faulty.h"

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_module module = {8, OUTLET_ABI_MINOR, 0, 1, NULL};
    (void)host_minor;
    return &module;
}

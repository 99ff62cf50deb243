/* The size of its module table ends before the descriptors. The host must refuse to load it. */
#include "faulty.h"

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_module module = {8, OUTLET_ABI_MINOR, 0, 1, NULL};
    (void)host_minor;
    return &module;
}

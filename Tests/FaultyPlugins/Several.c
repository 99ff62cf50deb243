/* Three plugins in one file, without hooks. They break no rule. */
#include "faulty.h"

static const outlet_descriptor first = {DESCRIPTOR("several.first")};
static const outlet_descriptor second = {DESCRIPTOR("several.second")};
static const outlet_descriptor third = {DESCRIPTOR("several.third")};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_descriptor *const descriptors[] = {&first, &second, &third};
    static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 3, descriptors};
    (void)host_minor;
    return &module;
}

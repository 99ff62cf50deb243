/* Refuses hosts with a newer minor ABI version, although they support older plugins. The checker
 * must report it. */
#include "faulty.h"

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.refuses-newer")};
static const outlet_descriptor *const descriptors[] = {&descriptor};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_module module = {
        sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 1, descriptors};
    return host_minor == OUTLET_ABI_MINOR ? &module : NULL;
}

/* Its module needs a newer minor ABI version than the host has. The host must refuse to load it
 * and report both versions. */
#include "faulty.h"

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.newer-host")};
static const outlet_descriptor *const descriptors[] = {&descriptor};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_module module = {sizeof(outlet_module), 99, 99, 1, descriptors};
    (void)host_minor;
    return &module;
}

/* outlet_module_v1 returns another module at each call; it must always return the same one. The
 * checker must report it. */
#include "faulty.h"

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.answers-differently")};
static const outlet_descriptor *const descriptors[] = {&descriptor};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    const outlet_module once = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 1, descriptors};
    outlet_module *module = malloc(sizeof *module);
    (void)host_minor;
    if (module == NULL) return NULL;
    memcpy(module, &once, sizeof once);
    return module;
}

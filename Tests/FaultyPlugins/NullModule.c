/* outlet_module_v1 returns null, which refuses this host. The host must report the refusal. */
#include "faulty.h"

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    (void)host_minor;
    return NULL;
}

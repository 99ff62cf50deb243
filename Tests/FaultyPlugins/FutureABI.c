/* Exports only the entry function of the next major version. The host must refuse it and report
 * both versions. */
#include "faulty.h"

OUTLET_EXPORT const void *outlet_module_v2(uint32_t host_minor);
const void *outlet_module_v2(uint32_t host_minor) {
    (void)host_minor;
    return NULL;
}

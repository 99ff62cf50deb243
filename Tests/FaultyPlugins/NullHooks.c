/* Its `hooks` returns null, because it has no hooks; that is allowed. The host must call no
 * hook. */
#include "faulty.h"

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return NULL;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.null-hooks"), .hooks = hooks};
OUTLET_MODULE(descriptor)

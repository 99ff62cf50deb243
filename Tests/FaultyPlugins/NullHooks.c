/* Behaves: has no hooks, and says so with a null table. */
#include "faulty.h"

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return NULL;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.null-hooks"), .hooks = hooks};
OUTLET_MODULE(descriptor)

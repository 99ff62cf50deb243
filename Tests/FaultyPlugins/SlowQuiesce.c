/* Never says that it has ended its work; destroy must not be called. */
#include "faulty.h"

/* The work that does not end has the instance. */
static outlet_instance *volatile working;

static outlet_status quiesce(outlet_instance *self, outlet_call call) {
    (void)call;
    working = self;
    return OUTLET_PENDING;
}

static void destroy(outlet_instance *self) {
    (void)self;
    abort();
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.slow-quiesce"),
    .version = OUTLET_TEXT("1.0.0"), .create = make, .quiesce = quiesce, .destroy = destroy};
OUTLET_MODULE(descriptor)

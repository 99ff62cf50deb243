/* Its quiesce returns OUTLET_PENDING and never calls quiesced. The host must abandon the
 * instance at its deadline and must not call destroy. */
#include "faulty.h"

/* The instance, which the unfinished work would still use. */
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

/* Its prepare returns OUTLET_PENDING, and its cancel sleeps for 1.5 s; cancel must not block. The
 * checker must report it. */
#include "faulty.h"

#include <unistd.h>

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    return OUTLET_PENDING;
}

static void cancel(outlet_instance *self, outlet_completion completion) {
    (void)self, (void)completion;
    usleep(1500000);
}

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .prepare = prepare, .cancel = cancel};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.blocks-in-cancel"), .hooks = hooks};
OUTLET_MODULE(descriptor)

/* Its prepare sleeps for 1 ms although the descriptor has OUTLET_F_NONBLOCKING. The checker must
 * report it. */
#include "faulty.h"

#include <unistd.h>

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    usleep(1000);
    return OUTLET_OK;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.blocks-nonblocking"),
                                             .flags = OUTLET_F_NONBLOCKING, .hooks = hooks};
OUTLET_MODULE(descriptor)

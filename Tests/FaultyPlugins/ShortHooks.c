/* The size of its hook table contains only a part of the first hook. The host must refuse it, and
 * must not call the hook. */
#include "faulty.h"

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    abort();
}

static const outlet_hooks table = {.struct_size = offsetof(outlet_hooks, prepare) + 4,
                                   .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.short-hooks"), .hooks = hooks};
OUTLET_MODULE(descriptor)

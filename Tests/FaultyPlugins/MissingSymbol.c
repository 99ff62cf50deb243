/* Calls a function that no library defines. The host must refuse to load it and name the symbol. */
#include "faulty.h"

int outlet_faulty_nowhere(void);

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)completion;
    (void)self, (void)call, (void)request;
    return outlet_faulty_nowhere();
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.missing-symbol"), .hooks = hooks};
OUTLET_MODULE(descriptor)

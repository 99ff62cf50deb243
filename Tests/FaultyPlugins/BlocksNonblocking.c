/* Its prepare sleeps for 1 ms although the descriptor has OUTLET_F_NONBLOCKING; for ever if its
 * setting "until" is "ever", and every fifth time if it is "fifth". The checker must report it. */
#include "faulty.h"

#include <unistd.h>

static char until[8];

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    setting(host, call, "until", until, sizeof until);
    return make(descriptor, host, call, config, out);
}

PREPARE {
    static int calls;
    (void)self, (void)call, (void)request, (void)completion;
    if (strcmp(until, "fifth") != 0 || calls++ % 5 == 0) usleep(1500);
    while (strcmp(until, "ever") == 0) pause();
    return OUTLET_OK;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.blocks-nonblocking"),
    .version = OUTLET_TEXT("1.0.0"), .flags = OUTLET_F_NONBLOCKING, .create = create,
    .destroy = unmake, .hooks = hooks};
OUTLET_MODULE(descriptor)

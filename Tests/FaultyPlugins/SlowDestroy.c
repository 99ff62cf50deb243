/* Its destroy never returns. The host must report it and not wait longer than its deadline. */
#include "faulty.h"
#include <unistd.h>

static void destroy(outlet_instance *self) {
    (void)self;
    for (;;) pause();
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.slow-destroy"),
    .version = OUTLET_TEXT("1.0.0"), .create = make, .destroy = destroy};
OUTLET_MODULE(descriptor)

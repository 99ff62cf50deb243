/* Its create returns OUTLET_OK without storing an instance. The host must report that it could
 * not start. */
#include "faulty.h"

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    (void)descriptor, (void)host, (void)call, (void)config, (void)out;
    return OUTLET_OK;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.create-nothing"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake};
OUTLET_MODULE(descriptor)

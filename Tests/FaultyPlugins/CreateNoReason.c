/* Its create fails without a reason. The checker must report that. */
#include "faulty.h"

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    (void)descriptor, (void)host, (void)call, (void)config, (void)out;
    return OUTLET_E_FAILED;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.create-no-reason"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake};
OUTLET_MODULE(descriptor)

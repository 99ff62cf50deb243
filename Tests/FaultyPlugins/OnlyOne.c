/* Allows one instance at a time without OUTLET_F_PER_PROCESS in its descriptor. The checker must
 * report it. */
#include "faulty.h"

static outlet_instance *volatile only;

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    if (only != NULL) {
        host->fail(host, call, outlet_text("taken"), outlet_text("there is one already"));
        return OUTLET_E_FAILED;
    }
    const outlet_status status = make(descriptor, host, call, config, out);
    if (status == OUTLET_OK) only = *out;
    return status;
}

static void destroy(outlet_instance *self) {
    only = NULL;
    unmake(self);
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.only-one"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = destroy};
OUTLET_MODULE(descriptor)

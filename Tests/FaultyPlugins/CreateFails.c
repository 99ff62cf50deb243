/* Its create fails and passes a reason to host->fail. The host must report the reason, must not
 * call destroy, and must not count it as the one instance that OUTLET_F_PER_PROCESS allows. */
#include "faulty.h"

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    (void)descriptor, (void)config;
    *out = (outlet_instance *)8; /* The host must ignore it. */
    host->fail(host, call, outlet_text("no-licence"), outlet_text("no licence in /etc/faulty"));
    return OUTLET_E_FAILED;
}

static void destroy(outlet_instance *self) {
    (void)self;
    abort();
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.create-fails"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = destroy,
    .flags = OUTLET_F_PER_PROCESS};
OUTLET_MODULE(descriptor)

/* faulty.h - the parts of a plugin that a fixture gets right. */
#include <outlet/outlet.h>
#include <stdlib.h>

struct outlet_instance {
    const outlet_host *host;
};

/* Not every fixture needs every part. */
#define PART __attribute__((unused)) static

PART outlet_status make(const outlet_descriptor *descriptor, const outlet_host *host,
                        outlet_call call, const outlet_config *config,
                        outlet_instance **out) {
    (void)descriptor, (void)call, (void)config;
    outlet_instance *self = calloc(1, sizeof *self);
    if (self == NULL) return OUTLET_E_FAILED;
    self->host = host;
    *out = self;
    return OUTLET_OK;
}

PART void unmake(outlet_instance *self) { free(self); }

/* A descriptor's fields up to what a fixture adds. */
#define DESCRIPTOR(id_)                                                                 \
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT(id_),                   \
    .version = OUTLET_TEXT("1.0.0"), .create = make, .destroy = unmake

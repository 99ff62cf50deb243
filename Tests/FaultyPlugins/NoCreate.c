/* Its descriptor has no create, which is required. The host must refuse to load it. */
#include "faulty.h"

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.no-create"),
    .version = OUTLET_TEXT("1.0.0"), .destroy = unmake};
OUTLET_MODULE(descriptor)

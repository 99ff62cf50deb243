/* The size of its descriptor ends before the required functions. The host must refuse to load it
 * without reading the rest. */
#include "faulty.h"

static const outlet_descriptor descriptor = {
    .struct_size = 24, .id = OUTLET_TEXT("faulty.short-descriptor")};
OUTLET_MODULE(descriptor)

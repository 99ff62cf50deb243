/* Says that its descriptor ends before the required functions. */
#include "faulty.h"

static const outlet_descriptor descriptor = {
    .struct_size = 24, .id = OUTLET_TEXT("faulty.short-descriptor")};
OUTLET_MODULE(descriptor)

/* Its manifest has fewer permissions than its descriptor. The host must refuse to load it. */
#include "faulty.h"

OUTLET_MANIFEST("faulty.lying-permissions", "1.0.0", "\"net:a.example\"");

static const outlet_view permissions[] = {OUTLET_TEXT("net:a.example"), OUTLET_TEXT("env:HOME")};

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.lying-permissions"),
                                             .permissions = permissions, .permission_count = 2};
OUTLET_MODULE(descriptor)

/* Its manifest has another version than its descriptor. The host must refuse to load it. */
#include "faulty.h"

OUTLET_MANIFEST("faulty.lying-version", "1.0.1", "");

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.lying-version")};
OUTLET_MODULE(descriptor)

/* Its manifest has another id than its descriptor. The host must refuse to load it. */
#include "faulty.h"

OUTLET_MANIFEST("faulty.harmless", "1.0.0", "");

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.lying-manifest")};
OUTLET_MODULE(descriptor)

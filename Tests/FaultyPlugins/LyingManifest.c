/* Has a manifest that says another id than the code. */
#include "faulty.h"

OUTLET_MANIFEST("faulty.harmless", "1.0.0", "");

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.lying-manifest")};
OUTLET_MODULE(descriptor)

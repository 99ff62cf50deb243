/* Has a manifest of another version. */
#include "faulty.h"

OUTLET_MANIFEST("faulty.lying-version", "1.0.1", "");

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.lying-version")};
OUTLET_MODULE(descriptor)

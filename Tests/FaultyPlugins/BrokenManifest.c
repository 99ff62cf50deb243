/* Has a manifest that is not JSON, and a constructor that must not run because of that. */
#include "faulty.h"

OUTLET_MANIFEST("faulty.broken\"", "1.0.0", "");

__attribute__((constructor)) static void run(void) { abort(); }

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.broken-manifest")};
OUTLET_MODULE(descriptor)

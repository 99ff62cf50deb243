/* Has a manifest that is right, with NULs behind it up to one byte more than is allowed. */
#include "faulty.h"

__attribute__((section(OUTLET_MANIFEST_SECTION), used OUTLET_RETAIN_)) static const char
    manifest[(64 << 10) + 1] = "{\"id\":\"faulty.large-manifest\",\"version\":\"1.0.0\","
                               "\"abi\":\"1.0\",\"permissions\":[]}";

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.large-manifest")};
OUTLET_MODULE(descriptor)

/* Has a manifest with two ids, of which the last one is the code's. */
#include "faulty.h"

__attribute__((section(OUTLET_MANIFEST_SECTION), used OUTLET_RETAIN_)) static const char
    manifest[] = "{\"id\":\"faulty.harmless\",\"id\":\"faulty.doubled-manifest\","
                 "\"version\":\"1.0.0\",\"abi\":\"1.0\",\"permissions\":[]}";

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.doubled-manifest")};
OUTLET_MODULE(descriptor)

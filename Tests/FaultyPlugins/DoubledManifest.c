/* Its manifest has the key "id" twice; only the last value is that of the code. The host must
 * refuse the file. */
#include "faulty.h"

__attribute__((section(OUTLET_MANIFEST_SECTION), used OUTLET_RETAIN_)) static const char
    manifest[] = "{\"id\":\"faulty.harmless\",\"id\":\"faulty.doubled-manifest\","
                 "\"version\":\"1.0.0\",\"abi\":\"1.0\",\"permissions\":[]}";

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.doubled-manifest")};
OUTLET_MODULE(descriptor)

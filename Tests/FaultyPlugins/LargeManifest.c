/* Its manifest is one byte longer than the limit of 64 KiB; it is padded with NULs and otherwise
 * valid. The host must refuse the file. */
#include "faulty.h"

__attribute__((section(OUTLET_MANIFEST_SECTION), used OUTLET_RETAIN_)) static const char
    manifest[(64 << 10) + 1] = "{\"id\":\"faulty.large-manifest\",\"version\":\"1.0.0\","
                               "\"abi\":\"1.0\",\"permissions\":[]}";

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.large-manifest")};
OUTLET_MODULE(descriptor)

/* Its manifest is of the next major version of the ABI, which its code is not. The host must refuse
 * the file without mapping it: the constructor would end the process. */
#include "faulty.h"

__attribute__((section(OUTLET_MANIFEST_SECTION), used OUTLET_RETAIN_)) static const char
    manifest[] = "{\"id\":\"faulty.future-manifest\",\"version\":\"1.0.0\",\"abi\":\"2.0\","
                 "\"permissions\":[]}";

__attribute__((constructor)) static void run(void) { abort(); }

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.future-manifest")};
OUTLET_MODULE(descriptor)

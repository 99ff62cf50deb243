/* Its manifest has another minor ABI version than its module. The host must refuse to load it. */
#include "faulty.h"

__attribute__((section(OUTLET_MANIFEST_SECTION), used OUTLET_RETAIN_)) static const char
    manifest[] = "{\"id\":\"faulty.lying-abi\",\"version\":\"1.0.0\",\"abi\":\"1.7\","
                 "\"permissions\":[]}";

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.lying-abi")};
OUTLET_MODULE(descriptor)

/* Its id contains characters that the ABI forbids. The host must refuse to load it. */
#include "faulty.h"

static const outlet_descriptor descriptor = {DESCRIPTOR("Faulty ID!")};
OUTLET_MODULE(descriptor)

/* Has an id that is none. */
#include "faulty.h"

static const outlet_descriptor descriptor = {DESCRIPTOR("Faulty ID!")};
OUTLET_MODULE(descriptor)

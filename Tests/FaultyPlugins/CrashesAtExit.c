/* Crashes when the process ends, long after destroy. */
#include "faulty.h"

__attribute__((destructor)) static void crash(void) { abort(); }

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.crashes-at-exit")};
OUTLET_MODULE(descriptor)

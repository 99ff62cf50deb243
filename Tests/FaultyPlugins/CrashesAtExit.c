/* Crashes in a destructor of the library, which runs when the process exits, long after destroy.
 * The checker must report it. */
#include "faulty.h"

__attribute__((destructor)) static void crash(void) { abort(); }

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.crashes-at-exit")};
OUTLET_MODULE(descriptor)

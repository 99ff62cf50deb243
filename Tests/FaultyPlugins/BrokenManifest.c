/* Its manifest is not JSON. The host must refuse the file without mapping it: the constructor
 * would end the process. */
#include "faulty.h"

OUTLET_MANIFEST("faulty.broken\"", "1.0.0", "");

__attribute__((constructor)) static void run(void) { abort(); }

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.broken-manifest")};
OUTLET_MODULE(descriptor)

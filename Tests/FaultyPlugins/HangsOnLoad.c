/* Its library never comes back from being loaded. */
#include "faulty.h"
#include <unistd.h>

__attribute__((constructor)) static void hang(void) {
    /* The tests wait for this. */
    if (write(STDOUT_FILENO, "hanging\n", 8) != 8) return;
    for (;;) pause();
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.hangs-on-load")};
OUTLET_MODULE(descriptor)

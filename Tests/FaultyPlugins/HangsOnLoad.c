/* Its constructor never returns, so loading it never ends. The host must name the library when
 * the program is interrupted. */
#include "faulty.h"
#include <unistd.h>

__attribute__((constructor)) static void hang(void) {
    /* Tests wait for this line. */
    if (write(STDOUT_FILENO, "hanging\n", 8) != 8) return;
    for (;;) pause();
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.hangs-on-load")};
OUTLET_MODULE(descriptor)

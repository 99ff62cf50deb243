/* Takes over a signal and the umask when it is loaded, and wants to be the only one of its kind. */
#include "faulty.h"
#include <signal.h>
#include <sys/stat.h>

static void handle(int signal) { (void)signal; }

__attribute__((constructor)) static void take(void) {
    signal(SIGXFSZ, handle);
    /* Other tests make files meanwhile, which stay their owner's to read and write. */
    umask(026);
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.changes-process"),
                                             .flags = OUTLET_F_PER_PROCESS};
OUTLET_MODULE(descriptor)

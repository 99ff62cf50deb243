/* Its constructor changes a signal handler and the umask, which are state of the process. The host
 * must restore both and record the change.
 *
 * The plugin also has OUTLET_F_PER_PROCESS: the host must refuse a second instance. */
#include "faulty.h"
#include <signal.h>
#include <sys/stat.h>

static void handle(int signal) { (void)signal; }

__attribute__((constructor)) static void take(void) {
    signal(SIGXFSZ, handle);
    /* Other tests create files concurrently, so this mask keeps the owner's permissions. */
    umask(026);
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.changes-process"),
                                             .flags = OUTLET_F_PER_PROCESS};
OUTLET_MODULE(descriptor)

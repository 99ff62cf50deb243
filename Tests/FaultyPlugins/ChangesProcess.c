/* Its constructor changes a signal handler and the umask, which are state of the process, and leaves
 * a value on the stack of the x87. The host must restore all of them and record the change.
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
#if defined(__x86_64__)
    __asm__ volatile("fldz");
#endif
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.changes-process"),
                                             .flags = OUTLET_F_PER_PROCESS};
OUTLET_MODULE(descriptor)

/* Its create starts a process that leaves the session and the process group, and that destroy does not
 * end. It writes a byte to the FIFO that the setting "fifo" names, and keeps it open. With the setting
 * "hangs", create does not return. The checker must report the process, and end it. */
#include "faulty.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host, outlet_call call,
                            const outlet_config *config, outlet_instance **out) {
    char fifo[1024] = "", hangs[8] = "";
    setting(host, call, "fifo", fifo, sizeof fifo);
    setting(host, call, "hangs", hangs, sizeof hangs);
    char *arguments[] = {"setsid", "-f", "sh", "-c", "exec 3>\"$0\"; printf x >&3; exec sleep 60", fifo, NULL};
    pid_t child;
    if (posix_spawnp(&child, "setsid", NULL, NULL, arguments, environ) == 0) waitpid(child, NULL, 0);
    while (hangs[0] != 0) pause();
    return make(descriptor, host, call, config, out);
}

static const outlet_descriptor descriptor = {.struct_size = sizeof(outlet_descriptor),
                                             .id = OUTLET_TEXT("faulty.starts-process"),
                                             .version = OUTLET_TEXT("1.0.0"),
                                             .create = create,
                                             .destroy = unmake};
OUTLET_MODULE(descriptor)

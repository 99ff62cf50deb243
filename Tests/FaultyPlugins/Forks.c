/* Its prepare forks and waits for the child, which a plugin must not do. The checker must report
 * it. */
#include "faulty.h"

#include <sys/wait.h>
#include <unistd.h>

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
    return OUTLET_OK;
}
PREPARES("faulty.forks")

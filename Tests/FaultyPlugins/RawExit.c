/* Its prepare ends the process with _exit, which runs no exit handlers. The checker must report
 * it. */
#include "faulty.h"

#include <unistd.h>

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    _exit(0);
}
PREPARES("faulty.raw-exit")

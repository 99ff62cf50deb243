/* Ends the process behind everybody's back. */
#include "faulty.h"

#include <unistd.h>

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    _exit(0);
}
PREPARES("faulty.raw-exit")

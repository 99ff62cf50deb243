/* Its prepare takes 300 ms. It breaks no rule. */
#include "faulty.h"

#include <unistd.h>

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    usleep(300000);
    return OUTLET_OK;
}

PREPARES("faulty.slow-hooks")

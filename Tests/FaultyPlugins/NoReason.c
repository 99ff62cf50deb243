/* Fails requests, and does not say why. */
#include "faulty.h"

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    return OUTLET_E_FAILED;
}
PREPARES("faulty.no-reason")

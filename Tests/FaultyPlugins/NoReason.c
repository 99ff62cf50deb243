/* Its prepare fails without a reason. The checker must report it. */
#include "faulty.h"

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    return OUTLET_E_FAILED;
}
PREPARES("faulty.no-reason")

/* Its prepare passes a copy of the host table. The host must refuse it and record a wrong handle. */
#include "faulty.h"

PREPARE {
    (void)call, (void)completion;
    outlet_host copy = *self->host;
    return copy.request_set_header(&copy, request, outlet_text("X-Copy"), outlet_text("1"))
                   == OUTLET_E_STALE
               ? OUTLET_OK
               : OUTLET_E_FAILED;
}

PREPARES("faulty.copies-table")

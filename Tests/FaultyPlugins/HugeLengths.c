/* Passes views with a length of 2^64 - 1, and null views with a length, to the host. The host
 * must refuse each without reading it, and record those passed to `done`. */
#include "faulty.h"

PREPARE {
    const outlet_host *host = self->host;
    const outlet_view huge = {(const uint8_t *)"x", (uint64_t)-1};
    const outlet_view null = {NULL, 8};
    if (host->request_set_header(host, request, outlet_text("X"), huge) == OUTLET_OK) abort();
    if (host->request_set_header(host, request, huge, outlet_text("x")) == OUTLET_OK) abort();
    if (host->request_set_body(host, request, null) == OUTLET_OK) abort();
    host->log(host, call, OUTLET_LOG_INFO, huge, NULL, 0);
    host->done(host, completion, OUTLET_E_FAILED, huge, null);
    return OUTLET_PENDING;
}
PREPARES("faulty.huge-lengths")

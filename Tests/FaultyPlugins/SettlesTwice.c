/* Settles each completion twice. The host must use the first result, return OUTLET_E_STALE for
 * the second, and record it. */
#include "faulty.h"

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    const outlet_host *host = self->host;
    (void)call;
    host->request_set_header(host, request, outlet_text("X-Settled"), outlet_text("once"));
    const outlet_view none = outlet_text("");
    if (host->done(host, completion, OUTLET_OK, none, none) != OUTLET_OK) abort();
    if (host->done(host, completion, OUTLET_E_FAILED, none, outlet_text("no")) !=
        OUTLET_E_STALE) {
        abort();
    }
    return OUTLET_PENDING;
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    const outlet_host *host = self->host;
    (void)call, (void)request, (void)response, (void)attempt;
    host->retry_done(host, completion, OUTLET_RETRY_NO, 0, outlet_text(""), outlet_text(""));
    host->retry_done(host, completion, OUTLET_RETRY_NOW, 0, outlet_text(""), outlet_text(""));
    return OUTLET_OK;
}

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .adapt = adapt, .retry = retry};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.settles-twice"), .hooks = hooks};
OUTLET_MODULE(descriptor)

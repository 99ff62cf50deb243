/* Its adapt calls retry_done and its retry calls done before the right function. The host must
 * refuse the wrong function with OUTLET_E_ARGUMENT, record it, and accept the right one. */
#include "faulty.h"

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    const outlet_host *host = self->host;
    (void)call;
    if (host->retry_done(host, completion, OUTLET_RETRY_NO, 0, outlet_text(""), outlet_text("")) ==
        OUTLET_E_ARGUMENT) {
        host->request_set_header(host, request, outlet_text("X-Crossed"), outlet_text("refused"));
    }
    host->done(host, completion, OUTLET_OK, outlet_text(""), outlet_text(""));
    return OUTLET_PENDING;
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    const outlet_host *host = self->host;
    (void)call, (void)request, (void)response, (void)attempt;
    host->done(host, completion, OUTLET_OK, outlet_text(""), outlet_text(""));
    host->retry_done(host, completion, OUTLET_RETRY_NOW, 0, outlet_text(""), outlet_text(""));
    return OUTLET_PENDING;
}

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .adapt = adapt, .retry = retry};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.crossed-completions"),
                                             .hooks = hooks};
OUTLET_MODULE(descriptor)

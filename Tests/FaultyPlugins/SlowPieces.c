/* Sends bodies that take 3 s: 30 pieces, each of which takes 100 ms. It breaks no rule. */
#include "faulty.h"

#include <unistd.h>

static outlet_status make_piece(outlet_instance *self, outlet_call call, uint64_t offset, outlet_sink sink,
                                outlet_completion completion, void *data) {
    (void)call, (void)completion, (void)data;
    usleep(100000);
    return offset < 30 ? self->host->sink_write(self->host, sink, outlet_text("x")) : OUTLET_OK;
}

PREPARE {
    const void *table;
    outlet_view method;
    (void)call, (void)completion;
    if (self->host->request_method(self->host, request, &method) != OUTLET_OK) return OUTLET_E_FAILED;
    if (method.len == 3 || method.ptr[0] == 'H') return OUTLET_OK; /* GET, PUT and HEAD */
    if (self->host->extension(self->host, outlet_text(OUTLET_STREAM_1), &table) != OUTLET_OK) return OUTLET_OK;
    return ((const outlet_streams *)table)
        ->send_body(self->host, request, OUTLET_UNKNOWN_LENGTH, make_piece, NULL, NULL);
}

PREPARES("faulty.slow-pieces")

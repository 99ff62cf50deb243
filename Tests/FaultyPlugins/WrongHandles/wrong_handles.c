/* Uses handles where it may not: after their end, for something else, in the wrong hook. */
#include "../faulty.h"

static outlet_request kept;

static void expect(outlet_status status, outlet_status wanted) {
    if (status != wanted) abort();
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request) {
    const outlet_host *host = self->host;
    outlet_view view;
    outlet_request other = {call.id}, none = {0}, wild = {0xFFFFFFFFFFFFFFFFull};
    outlet_view lie = {NULL, 5};
    (void)call;
    if (kept.id != 0) expect(host->request_url(kept, &view), OUTLET_E_STALE);
    kept = request;
    expect(host->request_url(other, &view), OUTLET_E_STALE);
    expect(host->request_url(none, &view), OUTLET_E_STALE);
    expect(host->request_url(wild, &view), OUTLET_E_STALE);
    expect(host->request_set_header(request, lie, outlet_text("a")), OUTLET_E_ARGUMENT);
    expect(host->request_set_header(request, outlet_text("a b"), outlet_text("a")),
           OUTLET_E_ARGUMENT);
    expect(host->request_set_header(request, outlet_text("A"), outlet_text("a\r\nB: c")),
           OUTLET_E_ARGUMENT);
    expect(host->request_set_header(request, outlet_text("transfer-encoding"), outlet_text("chunked")),
           OUTLET_E_ARGUMENT);
    expect(host->request_add_header(request, outlet_text("Content-Length"), outlet_text("+5")),
           OUTLET_E_ARGUMENT);
    expect(host->request_set_method(request, outlet_text("GE T")), OUTLET_E_ARGUMENT);
    expect(host->request_set_url(request, outlet_text("file:///etc/passwd")), OUTLET_E_ARGUMENT);
    expect(host->request_set_attr(request, outlet_text("target.name"), outlet_text("x")),
           OUTLET_E_DENIED);
    expect(host->request_attr(request, outlet_text("nothing"), &view), OUTLET_E_NOT_FOUND);
    expect(host->request_header(request, outlet_text("Nothing"), 0, &view), OUTLET_E_NOT_FOUND);
    expect(host->quiesced(self->owner), OUTLET_E_STATE);
    return OUTLET_OK;
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)call;
    expect(self->host->request_set_header(request, outlet_text("A"), outlet_text("b")),
           OUTLET_E_STATE);
}

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .prepare = prepare, .will_send = will_send};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.wrong-handles"), .hooks = hooks};
OUTLET_MODULE(descriptor)

/* Uses handles after their end, as another type or in the wrong hook, and passes invalid values.
 * The host must return the expected status each time and record wrong handles; otherwise the fixture
 * aborts. */
#include "faulty.h"

static outlet_request kept;

static void expect(outlet_status status, outlet_status wanted) {
    if (status != wanted) abort();
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)completion;
    const outlet_host *host = self->host;
    outlet_view view;
    outlet_request other = {call.id}, none = {0}, wild = {0xFFFFFFFFFFFFFFFFull};
    outlet_view lie = {NULL, 5};
    outlet_host copy;
    void *slot;
    const outlet_host *none_at_all = NULL;
    /* The same handle with the number of another instance. */
    outlet_request foreign = {request.id ^ ((uint64_t)0x7FFF << 48)};
    memcpy(&copy, host, sizeof copy);
    if (kept.id != 0) expect(host->request_url(host, kept, &view), OUTLET_E_STALE);
    kept = request;
    expect(host->request_url(host, other, &view), OUTLET_E_STALE);
    expect(host->request_url(host, none, &view), OUTLET_E_STALE);
    expect(host->request_url(host, wild, &view), OUTLET_E_STALE);
    expect(host->request_url(host, foreign, &view), OUTLET_E_STALE);
    expect(host->request_url(&copy, request, &view), OUTLET_E_STALE);
    expect(host->request_url(none_at_all, request, &view), OUTLET_E_STALE);
    expect(host->request_set_header(host, request, lie, outlet_text("a")), OUTLET_E_ARGUMENT);
    expect(host->request_set_header(host, request, outlet_text("a b"), outlet_text("a")),
           OUTLET_E_ARGUMENT);
    expect(host->request_set_header(host, request, outlet_text("A"), outlet_text("a\r\nB: c")),
           OUTLET_E_ARGUMENT);
    expect(host->request_set_header(host, request, outlet_text("transfer-encoding"),
                                    outlet_text("chunked")),
           OUTLET_E_ARGUMENT);
    expect(host->request_add_header(host, request, outlet_text("Content-Length"), outlet_text("5")),
           OUTLET_E_DENIED);
    expect(host->request_remove_header(host, request, outlet_text("content-length")),
           OUTLET_E_DENIED);
    expect(host->request_set_method(host, request, outlet_text("GE T")), OUTLET_E_ARGUMENT);
    expect(host->request_set_method(host, request, outlet_text("CONNECT")), OUTLET_E_ARGUMENT);
    expect(host->request_set_url(host, request, outlet_text("http://a.example/\r\nB: c")),
           OUTLET_E_ARGUMENT);
    expect(host->request_set_url(host, request, outlet_text("file:///etc/passwd")),
           OUTLET_E_ARGUMENT);
    expect(host->request_set_attr(host, request, outlet_text("target.name"), outlet_text("x")),
           OUTLET_E_DENIED);
    expect(host->request_attr(host, request, outlet_text("nothing"), &view), OUTLET_E_NOT_FOUND);
    expect(host->request_header(host, request, outlet_text("Nothing"), 0, &view),
           OUTLET_E_NOT_FOUND);
    expect(host->request_slot(host, request, &slot), OUTLET_E_STATE);
    expect(host->request_set_slot(host, request, &copy), OUTLET_E_STATE);
    expect(host->quiesced(host), OUTLET_E_STATE);
    return OUTLET_OK;
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)call;
    expect(self->host->request_set_header(self->host, request, outlet_text("A"), outlet_text("b")),
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

/* Uses what its hooks are passed on a thread of its own.
 *
 * In will_send, did_receive, serialize and an exported function, while these wait for the thread: this
 * breaks the rule handle-thread. The host must answer OUTLET_E_THREAD, and change and read nothing; the
 * fixture aborts otherwise. In prepare, before the hook returns OUTLET_PENDING: that is allowed. */
#include "faulty.h"
#include <pthread.h>

struct passed {
    const outlet_host *host;
    outlet_call call;
    outlet_request request;
    outlet_response response;
    outlet_completion completion;
    outlet_sink sink;
};

static void expect(int is_right) {
    if (!is_right) abort();
}

static void *use_request(void *data) {
    const struct passed *passed = data;
    const outlet_host *host = passed->host;
    outlet_view view = {0};
    void *slot = NULL;
    expect(host->request_url(host, passed->request, &view) == OUTLET_E_THREAD);
    expect(host->request_slot(host, passed->request, &slot) == OUTLET_E_THREAD);
    expect(view.ptr == NULL && slot == NULL);
    expect(host->fail(host, passed->call, outlet_text("code"), outlet_text("message")) ==
           OUTLET_E_THREAD);
    /* Any thread may write to the log. */
    expect(host->log(host, passed->call, OUTLET_LOG_INFO, outlet_text("from a thread"), NULL, 0) ==
           OUTLET_OK);
    return NULL;
}

static void *use_response(void *data) {
    const struct passed *passed = data;
    int32_t status = -1;
    expect(passed->host->response_status(passed->host, passed->response, &status) ==
           OUTLET_E_THREAD);
    expect(status == -1);
    return NULL;
}

static void *use_sink(void *data) {
    const struct passed *passed = data;
    const outlet_host *host = passed->host;
    expect(host->sink_write(host, passed->sink, outlet_text("from a thread")) == OUTLET_E_THREAD);
    expect(host->fail(host, passed->call, outlet_text("code"), outlet_text("message")) ==
           OUTLET_E_THREAD);
    return NULL;
}

static void *answer(void *data) {
    const struct passed *passed = data;
    const outlet_host *host = passed->host;
    const outlet_view none = {0};
    expect(host->request_set_header(host, passed->request, outlet_text("X-Thread"),
                                    outlet_text("1")) == OUTLET_OK);
    expect(host->done(host, passed->completion, OUTLET_OK, none, none) == OUTLET_OK);
    return NULL;
}

static void run(void *(*body)(void *), struct passed *passed) {
    pthread_t thread;
    expect(pthread_create(&thread, NULL, body, passed) == 0);
    pthread_join(thread, NULL);
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    struct passed passed = {self->host, call, request, {0}, completion, {0}};
    run(answer, &passed);
    return OUTLET_PENDING;
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    struct passed passed = {self->host, call, request, {0}, {0}, {0}};
    outlet_view url;
    run(use_request, &passed);
    expect(self->host->request_url(self->host, request, &url) == OUTLET_OK);
}

static void did_receive(outlet_instance *self, outlet_call call, outlet_request request,
                        outlet_response response) {
    struct passed passed = {self->host, call, request, response, {0}, {0}};
    int32_t status;
    run(use_response, &passed);
    (void)self->host->response_status(self->host, response, &status);
}

static outlet_status write_sink(outlet_instance *self, outlet_call call, outlet_sink sink) {
    struct passed passed = {self->host, call, {0}, {0}, {0}, sink};
    run(use_sink, &passed);
    return self->host->sink_write(self->host, sink, outlet_text("from the call"));
}

static outlet_status serialize(outlet_instance *self, outlet_call call, outlet_request request,
                               outlet_response response, outlet_sink sink, outlet_view *type) {
    (void)request;
    (void)response;
    *type = outlet_text("text");
    return write_sink(self, call, sink);
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .will_send = will_send,
                                   .did_receive = did_receive,
                                   .serialize = serialize};
static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}
static const outlet_export write_export = {
    .struct_size = sizeof(outlet_export), .name = OUTLET_TEXT("write"),
    .signature = OUTLET_TEXT("e(co)"), .function = (outlet_function)write_sink};
static const outlet_export *const exports[] = {&write_export};
static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.wrong-thread"), .hooks = hooks,
                                             .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)

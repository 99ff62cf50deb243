/* Its hook "hook" (prepare, will_send, process or serialize), or with "call" its function, makes a change
 * that the host refuses, and goes on as if it were made. The checker must report it. With "replacing" as the hook, prepare makes another
 * change instead, which is allowed. */
#include "faulty.h"

#include <stdbool.h>

static char chosen[16];

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    setting(host, call, "hook", chosen, sizeof chosen);
    return make(descriptor, host, call, config, out);
}

static bool is(const char *hook) { return strcmp(chosen, hook) == 0; }

PREPARE {
    (void)call, (void)completion;
    if (is("prepare"))
        self->host->request_set_header(self->host, request, outlet_text("X"), outlet_text("a\r\nb"));
    if (is("replacing")
        && self->host->request_set_header(self->host, request, outlet_text("Content-Length"),
                                          outlet_text("5"))
               != OUTLET_OK)
        self->host->request_set_header(self->host, request, outlet_text("X"), outlet_text("5"));
    return OUTLET_OK;
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)call;
    if (is("will_send"))
        self->host->request_set_header(self->host, request, outlet_text("X"), outlet_text("1"));
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)call, (void)request, (void)completion;
    if (is("process"))
        self->host->response_replace(self->host, response, 700, NULL, 0, outlet_text(""));
    return OUTLET_OK;
}

static outlet_status serialize(outlet_instance *self, outlet_call call, outlet_request request,
                               outlet_response response, outlet_sink sink, outlet_view *type) {
    (void)call, (void)request;
    if (is("serialize"))
        self->host->response_replace(self->host, response, 200, NULL, 0, outlet_text(""));
    *type = outlet_text("text");
    return self->host->sink_write(self->host, sink, outlet_text("value"));
}

static int32_t change(outlet_instance *self, outlet_request request) {
    if (is("call"))
        self->host->request_set_header(self->host, request, outlet_text("X"), outlet_text("1"));
    return 1;
}

static const outlet_export change_export = {sizeof(outlet_export), 0, OUTLET_TEXT("change"),
                                            OUTLET_TEXT("i(r)"), OUTLET_TEXT("Changes a request."),
                                            (outlet_function)change};
static const outlet_export *const exports[] = {&change_export};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare,
                                   .will_send = will_send, .process = process,
                                   .serialize = serialize};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.ignores-refusals"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .hooks = hooks,
    .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)

/* Makes one call of the host that is refused, and goes on as if nothing were wrong. The host must
 * log it, and the checker must report it.
 *
 * "call" says which: "url" and "method" (null with a length), "port" (too large), "attribute" (too
 * long), "watch" (without a function), "streams" (too many), "body" (longer than possible), "late body"
 * (in will_send), "level", "event level" (in on_events), "facts" (too many), "error" (a code of other
 * characters), "denied" (a replacement of what prepare has refused). "settled watch", "settled body",
 * "settled replace" and "settled error" make their change once the completion of the hook is settled.
 * "result", "name", "snapshot", "buffer", "key", "timer", "send" and "service" pass null to a function that reads
 * or to a service; "slot" stores a pointer without a hook request_done; "setting" asks for the configuration.
 * These break no rule: "answer" and "replace", with a Content-Length other than the body's,
 * "replace-te", with Transfer-Encoding, and "whole", which asks for a service in a hook and logs how the
 * watched body has ended. */
#include "faulty.h"

static char chosen[20];

static int is(const char *call) { return strcmp(chosen, call) == 0; }

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    setting(host, call, "call", chosen, sizeof chosen);
    return make(descriptor, host, call, config, out);
}

static outlet_status see(outlet_instance *self, outlet_call call, outlet_response response,
                         uint64_t offset, outlet_view bytes, outlet_completion completion,
                         void *data) {
    (void)self, (void)call, (void)response, (void)offset, (void)bytes, (void)completion, (void)data;
    return OUTLET_OK;
}

static outlet_status produce(outlet_instance *self, outlet_call call, uint64_t offset,
                             outlet_sink sink, outlet_completion completion, void *data) {
    (void)self, (void)call, (void)offset, (void)sink, (void)completion, (void)data;
    return OUTLET_OK;
}

static void end(outlet_instance *self, outlet_call call, outlet_status status, void *data) {
    (void)data;
    self->host->log(self->host, call, OUTLET_LOG_INFO,
                    status == OUTLET_OK ? outlet_text("whole") : outlet_text("cancelled"), NULL, 0);
}

static void stream(const outlet_host *host, outlet_request request) {
    const void *table;
    if (host->extension(host, outlet_text(OUTLET_STREAM_1), &table) != OUTLET_OK) return;
    const outlet_streams *streams = table;
    if (is("whole") || is("settled watch")) streams->watch_response(host, request, see, end, NULL);
    for (int i = 0; is("streams") && i <= OUTLET_MAX_STREAMS; i++)
        streams->watch_response(host, request, see, NULL, NULL);
    if (is("watch")) streams->watch_response(host, request, NULL, end, NULL);
    if (is("body")) streams->send_body(host, request, UINT64_MAX - 1, produce, end, NULL);
    if (is("late body") || is("settled body")) streams->send_body(host, request, 5, produce, NULL, NULL);
}

static void settle(const outlet_host *host, outlet_completion completion) {
    host->done(host, completion, OUTLET_OK, outlet_text(""), outlet_text(""));
}

static void pass_null(const outlet_host *host, outlet_call call, outlet_request request) {
    const outlet_view null = {NULL, 5};
    const void *table = NULL;
    outlet_view value;
    uint64_t count;
    outlet_request_snapshot small = {.struct_size = 8};
    if (is("result")) host->request_url(host, request, NULL);
    if (is("name")) host->request_header(host, request, null, 0, &value);
    if (is("snapshot")) host->request_snapshot(host, request, &small);
    if (is("buffer")) host->request_body_read(host, request, 0, NULL, 100, &count);
    if (is("key")) host->request_attr(host, request, null, &value);
    if (is("service")) host->extension(host, null, &table);
    if (is("timer") && host->extension(host, outlet_text(OUTLET_TIMER_1), &table) == OUTLET_OK)
        ((const outlet_timers *)table)->start(host, 1, NULL, NULL, NULL);
    if (is("send") && host->extension(host, outlet_text(OUTLET_HTTP_1), &table) == OUTLET_OK)
        ((const outlet_http *)table)->send(host, call, NULL, NULL, NULL, NULL);
    if (is("slot")) host->request_set_slot(host, request, &table);
    if (is("setting")) host->config_value(host, call, outlet_text("call"), &value);
}

PREPARE {
    static const char long_text[70000] = {'x'};
    static const outlet_field fact = {OUTLET_TEXT("a"), OUTLET_TEXT("b")};
    static const outlet_field length = {OUTLET_TEXT("Content-Length"), OUTLET_TEXT("999")};
    const outlet_host *host = self->host;
    const outlet_view null = {NULL, 5}, large = {(const uint8_t *)long_text, 70000};
    outlet_field facts[OUTLET_MAX_LOG_FIELDS + 1];
    if (is("settled watch") || is("settled body")) settle(host, completion);
    if (is("denied")) {
        host->fail(host, call, outlet_text("no"), outlet_text("not this one"));
        return OUTLET_E_DENIED;
    }
    for (int i = 0; i <= OUTLET_MAX_LOG_FIELDS; i++) facts[i] = fact;
    if (is("url")) host->request_set_url(host, request, null);
    if (is("port")) host->request_set_url(host, request, outlet_text("http://a.example:65536/"));
    if (is("method")) host->request_set_method(host, request, null);
    if (is("attribute")) host->request_set_attr(host, request, outlet_text("key"), large);
    if (is("level")) host->log(host, call, 77, outlet_text("x"), NULL, 0);
    if (is("facts"))
        host->log(host, call, OUTLET_LOG_INFO, outlet_text("x"), facts, OUTLET_MAX_LOG_FIELDS + 1);
    pass_null(host, call, request);
    if (is("answer")) host->request_answer(host, request, 200, &length, 1, outlet_text("abc"));
    if (is("whole") || is("watch") || is("streams") || is("body") || is("settled watch") || is("settled body"))
        stream(host, request);
    return OUTLET_OK;
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)call;
    if (is("late body")) stream(self->host, request);
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    static const outlet_field length = {OUTLET_TEXT("Content-Length"), OUTLET_TEXT("999")};
    static const outlet_field coding = {OUTLET_TEXT("Transfer-Encoding"), OUTLET_TEXT("chunked")};
    const outlet_host *host = self->host;
    (void)call, (void)request;
    if (is("settled replace") || is("settled error")) settle(host, completion);
    if (is("error"))
        host->response_replace_error(host, response, outlet_text("Not A Code"), outlet_text("why"));
    if (is("settled error"))
        host->response_replace_error(host, response, outlet_text("code"), outlet_text("why"));
    if (is("replace") || is("denied") || is("settled replace"))
        host->response_replace(host, response, 200, &length, 1, outlet_text("abc"));
    if (is("replace-te")) host->response_replace(host, response, 200, &coding, 1, outlet_text("abc"));
    return OUTLET_OK;
}

static void on_events(outlet_instance *self, outlet_call call, const outlet_events *events) {
    (void)events;
    if (is("event level")) self->host->log(self->host, call, 77, outlet_text("x"), NULL, 0);
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .will_send = will_send,
                                   .process = process,
                                   .event_mask = OUTLET_EVENT_BIT(OUTLET_EVENT_FINISHED),
                                   .on_events = on_events};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_view permissions[] = {OUTLET_TEXT("net:127.0.0.1")};

static const outlet_descriptor descriptor = {
    .permissions = permissions, .permission_count = 1,
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.refused-calls"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .hooks = hooks};
OUTLET_MODULE(descriptor)

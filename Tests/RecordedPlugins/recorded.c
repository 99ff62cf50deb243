/* recorded.c - uses each table of the ABI. A build of it is kept for each minor version, and tests
 * load all of them. What a later minor version appends is used where OUTLET_HAS says that it is
 * there. */
#include <outlet/outlet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

OUTLET_MANIFEST("recorded", "1.0.0", "");

/* What has been called, and how often. */
enum {
    ADAPT, PREPARE, FINALIZE, WILL_SEND, PIECE, STREAM_END, DID_RECEIVE, PROCESS, SERIALIZE, EVENTS,
    REQUEST_DONE, COUNT
};

struct outlet_instance {
    const outlet_host *host;
    const outlet_timers *timers;
    const outlet_streams *streams;
    outlet_status http; /* the answer to asking for outlet.http/1 */
    char word[32];
    atomic_int counts[COUNT];
};

static outlet_status set_word(outlet_instance *self, outlet_call call, outlet_view json) {
    const char *end, *start;
    char text[128] = "";
    if (json.len >= sizeof text) return OUTLET_E_ARGUMENT;
    memcpy(text, json.ptr, json.len);
    start = strchr(text, ':');
    start = start == NULL ? NULL : strchr(start, '"');
    end = start == NULL ? NULL : strchr(start + 1, '"');
    if (end == NULL || end - start > (long)sizeof self->word) {
        self->host->fail(self->host, call, outlet_text("no-word"), outlet_text("\"word\" is missing"));
        return OUTLET_E_ARGUMENT;
    }
    snprintf(self->word, sizeof self->word, "%.*s", (int)(end - start - 1), start + 1);
    return OUTLET_OK;
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    outlet_instance *self = calloc(1, sizeof *self);
    outlet_view word;
    const void *table;
    (void)descriptor;
    if (self == NULL) return OUTLET_E_FAILED;
    self->host = host;
    outlet_status status = host->config_value(host, call, outlet_text("word"), &word);
    if (status == OUTLET_OK) status = set_word(self, call, config->json);
    if (status == OUTLET_OK) status = host->extension(host, outlet_text(OUTLET_TIMER_1), &table);
    if (status == OUTLET_OK) {
        self->timers = table;
        status = host->extension(host, outlet_text(OUTLET_STREAM_1), &table);
    }
    if (status != OUTLET_OK) {
        free(self);
        return status;
    }
    self->streams = table;
    self->http = host->extension(host, outlet_text(OUTLET_HTTP_1), &table);
    *out = self;
    return OUTLET_OK;
}

static void adapt_later(outlet_instance *self, outlet_call call, outlet_status status, void *data) {
    outlet_completion *completion = data;
    (void)call;
    self->host->done(self->host, *completion, status, outlet_text(""), outlet_text(""));
    free(completion);
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    outlet_completion *kept = malloc(sizeof *kept);
    outlet_timer timer;
    (void)call;
    self->counts[ADAPT]++;
    if (kept == NULL) return OUTLET_E_FAILED;
    *kept = completion;
    outlet_status status = self->host->request_set_slot(self->host, request, self);
    if (status == OUTLET_OK) status = self->timers->start(self->host, 1000, adapt_later, kept, &timer);
    if (status == OUTLET_OK) return OUTLET_PENDING;
    free(kept);
    return status;
}

static outlet_status piece(outlet_instance *self, outlet_call call, outlet_response response,
                           uint64_t offset, outlet_view bytes, outlet_completion completion,
                           void *data) {
    (void)call, (void)response, (void)offset, (void)completion, (void)data;
    self->counts[PIECE] += bytes.len > 0;
    return OUTLET_OK;
}

static void stream_end(outlet_instance *self, outlet_call call, outlet_status status, void *data) {
    (void)call, (void)data;
    self->counts[STREAM_END] += status == OUTLET_OK;
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    const outlet_host *host = self->host;
    (void)call, (void)completion;
    self->counts[PREPARE]++;
    outlet_status status = host->request_set_header(host, request, outlet_text("X-Recorded"),
                                                    outlet_text(self->word));
    if (status != OUTLET_OK) return status;
    return self->streams->watch_response(host, request, piece, stream_end, NULL);
}

static outlet_status finalize(outlet_instance *self, outlet_call call, outlet_request request,
                              outlet_completion completion) {
    const outlet_host *host = self->host;
    outlet_request_snapshot head = {.struct_size = sizeof head};
    void *slot = NULL;
    (void)call, (void)completion;
    self->counts[FINALIZE]++;
    outlet_status status = host->request_snapshot(host, request, &head);
    if (status == OUTLET_OK) status = host->request_slot(host, request, &slot);
    if (status != OUTLET_OK) return status;
    if (slot != self) return OUTLET_E_STATE;
    return host->request_set_header(host, request, outlet_text("X-Method"), head.method);
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)call, (void)request;
    self->counts[WILL_SEND]++;
}

static void did_receive(outlet_instance *self, outlet_call call, outlet_request request,
                        outlet_response response) {
    (void)call, (void)request, (void)response;
    self->counts[DID_RECEIVE]++;
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    const outlet_host *host = self->host;
    const outlet_field field = {OUTLET_TEXT("X-Recorded"), OUTLET_TEXT("processed")};
    outlet_view body;
    (void)call, (void)request, (void)completion;
    self->counts[PROCESS]++;
    outlet_status status = host->response_body(host, response, &body);
    if (status != OUTLET_OK) return status;
    return host->response_replace(host, response, 202, &field, 1, body);
}

static outlet_status serialize(outlet_instance *self, outlet_call call, outlet_request request,
                               outlet_response response, outlet_sink sink, outlet_view *type) {
    const outlet_host *host = self->host;
    outlet_view body;
    (void)call, (void)request;
    self->counts[SERIALIZE]++;
    outlet_status status = host->response_body(host, response, &body);
    if (status != OUTLET_OK) return status;
    *type = outlet_text("text");
    return host->sink_write(host, sink, body);
}

static void on_events(outlet_instance *self, outlet_call call, const outlet_events *events) {
    (void)call;
    for (uint64_t i = 0; i < events->count; i++) {
        if (outlet_event_at(events, i)->kind == OUTLET_EVENT_FINISHED) self->counts[EVENTS]++;
    }
}

static void request_done(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)call, (void)request;
    self->counts[REQUEST_DONE]++;
}

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .prepare = prepare, .will_send = will_send,
    .did_receive = did_receive, .process = process, .adapt = adapt, .request_done = request_done,
    .finalize = finalize, .serialize = serialize,
    .event_mask = OUTLET_EVENT_BIT(OUTLET_EVENT_FINISHED), .on_events = on_events};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static outlet_status quiesce(outlet_instance *self, outlet_call call) {
    (void)call;
    self->host->quiesced(self->host);
    return OUTLET_PENDING;
}

static void destroy(outlet_instance *self) { free(self); }

static outlet_status reconfigure(outlet_instance *self, outlet_call call,
                                 const outlet_config *config) {
    return set_word(self, call, config->json);
}

/* The counts in their order, and the status of outlet.http/1. */
static outlet_status report(outlet_instance *self, outlet_sink sink) {
    char text[16];
    for (int i = 0; i <= COUNT; i++) {
        const int value = i < COUNT ? self->counts[i] : self->http;
        snprintf(text, sizeof text, i == 0 ? "%d" : " %d", value);
        outlet_status status = self->host->sink_write(self->host, sink, outlet_text(text));
        if (status != OUTLET_OK) return status;
    }
    return OUTLET_OK;
}

static int64_t add(outlet_instance *self, int64_t a, int32_t b, int64_t (*twice)(outlet_view)) {
    (void)self;
    return a + b + twice(outlet_text("four"));
}

#define EXPORT(name_, signature_)                                                       \
    static const outlet_export export_##name_ = {                                       \
        .struct_size = sizeof(outlet_export), .name = OUTLET_TEXT(#name_),              \
        .flags = OUTLET_X_ANY_THREAD, .signature = OUTLET_TEXT(signature_),             \
        .function = (outlet_function)name_}
EXPORT(report, "e(o)");
EXPORT(add, "l(lif{l(s)})");
static const outlet_export *const exports[] = {&export_report, &export_add};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .flags = OUTLET_F_CONCURRENT,
    .id = OUTLET_TEXT("recorded"), .version = OUTLET_TEXT("1.0.0"), .exports = exports,
    .export_count = sizeof exports / sizeof exports[0],
    .config_schema = OUTLET_TEXT("{\"required\": [\"word\"]}"),
    .create = create, .hooks = hooks, .quiesce = quiesce, .destroy = destroy,
    .order = OUTLET_ORDER_LAST, .reconfigure = reconfigure};
OUTLET_MODULE(descriptor)

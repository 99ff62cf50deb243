/* Behaves, and uses what the others do not: answers, replacements, every kind of argument. */
#include "../faulty.h"
#include <stdatomic.h>

static atomic_int inside;
static atomic_int overlaps;

static void enter(void) {
    if (atomic_fetch_add(&inside, 1) != 0) atomic_fetch_add(&overlaps, 1);
}

static void leave(void) { atomic_fetch_sub(&inside, 1); }

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)completion;
    const outlet_host *host = self->host;
    outlet_view wanted;
    enter();
    outlet_status status = OUTLET_OK;
    if (host->request_header(host, request, outlet_text("X-Answer"), 0, &wanted) == OUTLET_OK) {
        const outlet_field field = {OUTLET_TEXT("Content-Type"), OUTLET_TEXT("text/plain")};
        status = host->request_answer(host, request, 203, &field, 1, wanted);
        if (status != OUTLET_OK) {
            host->fail(host, call, outlet_text(""), outlet_text("the host plays no answers"));
        }
    }
    leave();
    return status;
}

static void did_receive(outlet_instance *self, outlet_call call, outlet_request request,
                        outlet_response response) {
    char line[64] = "status ";
    int32_t status = 0;
    (void)request;
    self->host->response_status(self->host, response, &status);
    line[7] = (char)('0' + status / 100 % 10);
    line[8] = (char)('0' + status / 10 % 10);
    line[9] = (char)('0' + status % 10);
    self->host->log(self->host, call, OUTLET_LOG_INFO, outlet_text(line), NULL, 0);
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)completion;
    const outlet_host *host = self->host;
    outlet_view code, message;
    int32_t status = 0;
    (void)call, (void)request;
    if (host->response_error(host, response, &code, &message) == OUTLET_OK &&
        code.len == 8 && memcmp(code.ptr, "timedOut", 8) == 0) {
        return host->response_replace(host, response, 299, NULL, 0, outlet_text("from the cache"));
    }
    if (host->response_status(host, response, &status) == OUTLET_OK && status == 418) {
        return host->response_replace_error(host, response, outlet_text("teapot"),
                                            outlet_text("no coffee"));
    }
    return OUTLET_OK;
}

static outlet_status all(outlet_instance *self, outlet_call call, uint8_t b, int32_t i, uint32_t I,
                         int64_t l, uint64_t L, double d, outlet_sink sink) {
    (void)call;
    int right = b == 1 && i == -5 && I == 4000000000u && l == -5000000000 &&
                L == 18000000000000000000u && d == 0.5;
    return self->host->sink_write(self->host, sink, outlet_text(right ? "right" : "wrong"));
}

static int32_t negative(outlet_instance *self) {
    (void)self;
    return -7;
}

static uint8_t is_empty(outlet_instance *self, outlet_view text) {
    (void)self;
    return text.len == 0;
}

static outlet_view motto(outlet_instance *self) {
    (void)self;
    return outlet_text("obliging");
}

static double half(outlet_instance *self, double value) {
    (void)self;
    return value / 2;
}

static int32_t overlapped(outlet_instance *self) {
    (void)self;
    return atomic_load(&overlaps);
}

#define EXPORT(name_, signature_)                                                     \
    static const outlet_export export_##name_ = {                                     \
        sizeof(outlet_export),   OUTLET_X_ANY_THREAD, OUTLET_TEXT(#name_),            \
        OUTLET_TEXT(signature_), OUTLET_TEXT(""),     (outlet_function)name_}
EXPORT(all, "e(cbiIlLdo)");
EXPORT(negative, "i()");
EXPORT(is_empty, "b(s)");
EXPORT(motto, "s()");
EXPORT(half, "d(d)");
EXPORT(overlapped, "i()");

static const outlet_export *const exports[] = {&export_all,   &export_negative, &export_is_empty,
                                               &export_motto, &export_half,     &export_overlapped};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .did_receive = did_receive,
                                   .process = process};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.obliging"), .hooks = hooks,
                                             .exports = exports, .export_count = 6};
OUTLET_MODULE(descriptor)

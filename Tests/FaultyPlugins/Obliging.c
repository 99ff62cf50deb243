/* Uses what other fixtures do not: answers, replacements, and every type of argument and result of
 * exports. The host must carry them out and run one hook at a time.
 *
 * Only two exports break a rule: "again" calls a function of an earlier call, which the host
 * must ignore and record; "untext" writes text that is not UTF-8, with which the call must fail. */
#include "faulty.h"
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

static outlet_status motto(outlet_instance *self, outlet_sink sink) {
    return self->host->sink_write(self->host, sink, outlet_text("obliging"));
}

/* Writes the bytes in reverse order. */
static outlet_status turned(outlet_instance *self, outlet_view bytes, outlet_sink sink) {
    for (uint64_t i = bytes.len; i > 0; i--) {
        const outlet_view byte = {bytes.ptr + i - 1, 1};
        if (self->host->sink_write(self->host, sink, byte) != OUTLET_OK) return OUTLET_E_FAILED;
    }
    return OUTLET_OK;
}

/* Writes a byte that is not UTF-8 to a sink for text. */
static outlet_status untext(outlet_instance *self, outlet_sink sink) {
    return self->host->sink_write(self->host, sink, outlet_text("\xff"));
}

static outlet_status method(outlet_instance *self, outlet_request request, outlet_sink sink) {
    const outlet_host *host = self->host;
    outlet_view method;
    outlet_status status = host->request_set_method(host, request, outlet_text("PUT"));
    if (status != OUTLET_E_STATE) return OUTLET_E_ARGUMENT;
    status = host->request_method(host, request, &method);
    return status == OUTLET_OK ? host->sink_write(host, sink, method) : status;
}

static uint8_t (*kept)(outlet_view);

/* Returns for how many of three words the caller's function returns true. */
static int32_t liked(outlet_instance *self, uint8_t (*likes)(outlet_view)) {
    static const char *const words[] = {"red", "green", "blue"};
    int32_t count = 0;
    (void)self;
    for (int i = 0; i < 3; i++) count += likes(outlet_text(words[i])) != 0;
    kept = likes;
    return count;
}

/* Calls the function that an earlier call received, which is no longer valid. */
static int32_t again(outlet_instance *self) {
    (void)self;
    return kept(outlet_text("red"));
}

/* Passes one number of each type to the caller's functions, and adds up the correct results. */
static double numbers(outlet_instance *self, int32_t (*i)(int32_t), uint32_t (*I)(uint32_t),
                      int64_t (*l)(int64_t), uint64_t (*L)(uint64_t), double (*d)(double),
                      void (*v)(outlet_view)) {
    const uint8_t bytes[] = {0, 255};
    const outlet_view view = {bytes, 2};
    (void)self;
    v(view);
    return (i(-5) == -4) + (I(4000000000u) == 4000000001u) + (l(-5000000000) == -4999999999) +
           (L(18000000000000000000u) == 18000000000000000001u) + d(0.5);
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
EXPORT(motto, "e(o)");
EXPORT(turned, "e(yO)");
EXPORT(untext, "e(o)");
EXPORT(method, "e(ro)");
EXPORT(liked, "i(f{b(s)})");
EXPORT(again, "i()");
EXPORT(numbers, "d(f{i(i)}f{I(I)}f{l(l)}f{L(L)}f{d(d)}f{v(y)})");
EXPORT(half, "d(d)");
EXPORT(overlapped, "i()");

static const outlet_export *const exports[] = {&export_all,   &export_negative, &export_is_empty,
                                               &export_motto, &export_half,     &export_overlapped,
                                               &export_turned, &export_untext,  &export_method,
                                               &export_liked, &export_again,    &export_numbers};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .did_receive = did_receive,
                                   .process = process};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.obliging"), .hooks = hooks,
                                             .exports = exports,
                                             .export_count = sizeof exports / sizeof exports[0]};
OUTLET_MODULE(descriptor)

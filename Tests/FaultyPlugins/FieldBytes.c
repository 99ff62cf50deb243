/* Sets header values that are not UTF-8, and copies those of responses; that is allowed. The host
 * must pass the bytes on unchanged, and refuse control characters.
 *
 *   prepare   sets X-Sent to each byte that a value may contain; with X-Answer, answers itself
 *   process   replaces the response by one with X-Copy: the bytes of the response's X-Received */
#include "faulty.h"

/* Fills `bytes` with HTAB, SP, VCHAR and obs-text (RFC 9110 5.5), without blanks at the ends. */
static uint64_t fill(uint8_t bytes[256]) {
    uint64_t count = 0;
    for (int byte = 0x21; byte < 0x100; byte++) {
        if (byte == 0x7F) continue;
        bytes[count++] = (uint8_t)byte;
        if (byte == 0x7E) bytes[count++] = '\t', bytes[count++] = ' ';
    }
    return count;
}

static int is_same(outlet_view a, outlet_view b) {
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    const outlet_host *host = self->host;
    const outlet_view name = outlet_text("X-Sent");
    uint8_t bytes[256];
    const outlet_view all = {bytes, fill(bytes)};
    outlet_view read;
    outlet_request_snapshot snapshot = {.struct_size = sizeof snapshot};
    (void)call, (void)completion;
    for (int byte = 0; byte < 0x80; byte = byte == 0x1F ? 0x7F : byte + 1) {
        const uint8_t value[] = {0xE9, (uint8_t)byte, 'x'};
        const outlet_view view = {value, sizeof value};
        const outlet_status wanted = byte == '\t' ? OUTLET_OK : OUTLET_E_ARGUMENT;
        if (host->request_set_header(host, request, name, view) != wanted) return OUTLET_E_FAILED;
    }
    outlet_status status = host->request_set_header(host, request, name, all);
    if (status != OUTLET_OK) return status;
    status = host->request_header(host, request, name, 0, &read);
    if (status != OUTLET_OK || !is_same(read, all)) return OUTLET_E_FAILED;
    status = host->request_snapshot(host, request, &snapshot);
    if (status != OUTLET_OK || snapshot.field_count == 0) return OUTLET_E_FAILED;
    if (!is_same(snapshot.fields[snapshot.field_count - 1].value, all)) return OUTLET_E_FAILED;
    if (host->request_header(host, request, outlet_text("X-Answer"), 0, &read) != OUTLET_OK) {
        return OUTLET_OK;
    }
    const outlet_field field = {OUTLET_TEXT("X-Received"), all};
    return host->request_answer(host, request, 200, &field, 1, outlet_text("answered"));
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    const outlet_host *host = self->host;
    outlet_field field = {OUTLET_TEXT("X-Copy"), {NULL, 0}};
    (void)call, (void)request, (void)completion;
    outlet_status status =
        host->response_header(host, response, outlet_text("X-Received"), 0, &field.value);
    if (status != OUTLET_OK) return status;
    return host->response_replace(host, response, 200, &field, 1, outlet_text("replaced"));
}

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .prepare = prepare, .process = process};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.field-bytes"), .hooks = hooks};
OUTLET_MODULE(descriptor)

/* Its serialize names a type that the ABI forbids, or makes a value that is not of the type. The
 * host must refuse types that cannot be read, and the checker must report each.
 *
 * "how" says what: "null", "huge" and "long" are types with a null pointer, with a length of 2^63
 * and with 2,000 bytes; "bytes" is one that is not UTF-8, "escape" one with a control sequence, and
 * "none" none. "json" and "text" make values that are not. */
#include "faulty.h"

struct serializes {
    outlet_instance base;
    char how[16];
};

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    struct serializes *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "how", self->how, sizeof self->how);
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status serialize(outlet_instance *self, outlet_call call, outlet_request request,
                               outlet_response response, outlet_sink sink, outlet_view *type) {
    static uint8_t letters[2000];
    const char *how = ((struct serializes *)self)->how;
    (void)call, (void)request, (void)response;
    memset(letters, 'a', sizeof letters);
    *type = outlet_text("com.example.value");
    if (strcmp(how, "null") == 0) *type = (outlet_view){NULL, 5};
    if (strcmp(how, "huge") == 0) *type = (outlet_view){letters, UINT64_C(1) << 63};
    if (strcmp(how, "long") == 0) *type = (outlet_view){letters, sizeof letters};
    if (strcmp(how, "bytes") == 0) *type = outlet_text("\xff");
    if (strcmp(how, "escape") == 0) *type = outlet_text("\x1b[31m");
    if (strcmp(how, "none") == 0) *type = (outlet_view){NULL, 0};
    if (strcmp(how, "json") == 0) *type = outlet_text("json");
    if (strcmp(how, "text") == 0) *type = outlet_text("text");
    return self->host->sink_write(self->host, sink, outlet_text("{not JSON, nor UTF-8: \xff"));
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .serialize = serialize};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.serializes"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .destroy = unmake};
OUTLET_MODULE(descriptor)

/* RequestID: adds an id to every request, for searches in the logs of servers.
 *
 * Configuration: "header", the name of the field (X-Request-ID), and "prefix", the text before each
 * id (none); both have at most 127 bytes of ASCII without control characters. A request that has
 * the field already keeps it. The id is the host's id of the request, which is the same in every
 * attempt, or a random one if the host has none. */
#include <outlet/outlet.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>

#define PLUGIN_ID "dev.outlet.request-id"
#define PLUGIN_VERSION "1.0.0"

OUTLET_MANIFEST(PLUGIN_ID, PLUGIN_VERSION, "");

enum { ID_LENGTH = 32, NAME_CAPACITY = 128, TEXT_CAPACITY = 512 };

struct outlet_instance {
    const outlet_host *host;
    char header[NAME_CAPACITY];
    char prefix[NAME_CAPACITY];
    atomic_uint_fast64_t made;
};

/* 128 random bits as hexadecimal digits. */
static int random_id(char *id) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[ID_LENGTH / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return 0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        id[2 * i] = digits[bytes[i] >> 4];
        id[2 * i + 1] = digits[bytes[i] & 15];
    }
    return 1;
}

/* Concatenates two texts in `out`; returns the length, or 0 if they do not fit. */
static size_t join(char *out, outlet_view a, outlet_view b) {
    if (a.len > TEXT_CAPACITY || b.len > TEXT_CAPACITY - a.len) return 0;
    if (a.len > 0) memcpy(out, a.ptr, a.len);
    if (b.len > 0) memcpy(out + a.len, b.ptr, b.len);
    return (size_t)(a.len + b.len);
}

static outlet_view view(const char *bytes, size_t length) {
    outlet_view view = {(const uint8_t *)bytes, length};
    return view;
}

static outlet_status fail(const outlet_instance *self, outlet_call call, const char *code,
                          const char *reason) {
    self->host->fail(self->host, call, outlet_text(code), outlet_text(reason));
    return OUTLET_E_FAILED; /* not a refusal, which the status of a reserved header would be */
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)completion;
    const outlet_host *host = self->host;
    outlet_view name = outlet_text(self->header), id;
    if (host->request_header(host, request, name, 0, &id) == OUTLET_OK) return OUTLET_OK;

    char made[ID_LENGTH], text[TEXT_CAPACITY];
    if (host->request_attr(host, request, outlet_text("request.id"), &id) != OUTLET_OK) {
        if (!random_id(made))
            return fail(self, call, "no-random", "the system gave no random bytes");
        id = view(made, ID_LENGTH);
    }
    size_t length = join(text, outlet_text(self->prefix), id);
    if (length == 0) return fail(self, call, "bad-id", "the id is empty or too long");
    atomic_fetch_add(&self->made, 1);
    outlet_status status = host->request_set_header(host, request, name, view(text, length));
    if (status == OUTLET_OK) return OUTLET_OK;
    return fail(self, call, "bad-header",
                "the header cannot be set: its name may be one that plugins cannot set");
}

/* next() -> text: a new id. */
static outlet_status next(outlet_instance *self, outlet_call call, outlet_sink sink) {
    char id[ID_LENGTH], text[TEXT_CAPACITY];
    if (!random_id(id)) return fail(self, call, "no-random", "the system gave no random bytes");
    size_t length = join(text, outlet_text(self->prefix), view(id, ID_LENGTH));
    if (length == 0) return fail(self, call, "bad-id", "the id is too long");
    atomic_fetch_add(&self->made, 1);
    return self->host->sink_write(self->host, sink, view(text, length));
}

/* format(text) -> text: the header line with this id. */
static outlet_status format(outlet_instance *self, outlet_call call, outlet_view id,
                            outlet_sink sink) {
    if (id.len == 0) {
        self->host->fail(self->host, call, outlet_text("empty-id"),
                         outlet_text("the id is empty"));
        return OUTLET_E_ARGUMENT;
    }
    outlet_view parts[] = {outlet_text(self->header), outlet_text(": "),
                           outlet_text(self->prefix), id};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        outlet_status status = self->host->sink_write(self->host, sink, parts[i]);
        if (status != OUTLET_OK) return status;
    }
    return OUTLET_OK;
}

/* count() -> L: the number of ids that this instance has made. */
static uint64_t count(outlet_instance *self) { return atomic_load(&self->made); }

/* Copies a setting, or `fallback` if it is not set; refuses a value that does not fit. */
static outlet_status setting(const outlet_host *host, outlet_call call, const char *key,
                             const char *fallback, char *out) {
    outlet_view value;
    if (host->config_value(host, call, outlet_text(key), &value) != OUTLET_OK) {
        value = outlet_text(fallback);
    }
    if (value.len >= NAME_CAPACITY) {
        host->fail(host, call, outlet_text("bad-configuration"),
                   outlet_text("configuration: \"header\" and \"prefix\" take at most 127 bytes"));
        return OUTLET_E_ARGUMENT;
    }
    if (value.len > 0) memcpy(out, value.ptr, value.len);
    out[value.len] = 0;
    return OUTLET_OK;
}

/* The host has validated the configuration by the schema. */
static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    (void)descriptor, (void)config;
    outlet_instance *self = calloc(1, sizeof *self);
    if (self == NULL) {
        host->fail(host, call, outlet_text("out-of-memory"), outlet_text("out of memory"));
        return OUTLET_E_FAILED;
    }
    self->host = host;
    outlet_status status = setting(host, call, "header", "X-Request-ID", self->header);
    if (status == OUTLET_OK) status = setting(host, call, "prefix", "", self->prefix);
    if (status == OUTLET_OK && self->header[0] == 0) {
        host->fail(host, call, outlet_text("bad-configuration"),
                   outlet_text("configuration: \"header\" is empty"));
        status = OUTLET_E_ARGUMENT;
    }
    if (status != OUTLET_OK) {
        free(self);
        return status;
    }
    *out = self;
    return OUTLET_OK;
}

static const outlet_hooks hook_table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &hook_table;
}

static void destroy(outlet_instance *self) { free(self); }

#define EXPORT(name_, signature_, flags_, summary_)                                 \
    static const outlet_export export_##name_ = {                                   \
        sizeof(outlet_export),   flags_,                 OUTLET_TEXT(#name_),       \
        OUTLET_TEXT(signature_), OUTLET_TEXT(summary_), (outlet_function)name_}

EXPORT(next, "e(co)", OUTLET_X_ANY_THREAD, "Makes a new id.");
EXPORT(format, "e(cso)", OUTLET_X_ANY_THREAD | OUTLET_X_PURE, "The header line of an id.");
EXPORT(count, "L()", OUTLET_X_ANY_THREAD, "How many ids were made so far.");

static const outlet_export *const exports[] = {&export_next, &export_format, &export_count};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor),
    .flags = OUTLET_F_CONCURRENT | OUTLET_F_NONBLOCKING,
    .id = OUTLET_TEXT(PLUGIN_ID),
    .version = OUTLET_TEXT(PLUGIN_VERSION),
    .name = OUTLET_TEXT("Request ID"),
    .summary = OUTLET_TEXT("Adds an id header to every request."),
    .config_schema = OUTLET_TEXT("{\"type\":\"object\",\"properties\":{"
                                 "\"header\":{\"type\":\"string\",\"minLength\":1,"
                                 "\"maxLength\":127,"
                                 "\"pattern\":\"^[A-Za-z0-9!#$%&'*+.^_`|~-]*$\"},"
                                 "\"prefix\":{\"type\":\"string\",\"maxLength\":127,"
                                 "\"pattern\":\"^[ -~]*$\"}},"
                                 "\"additionalProperties\":false}"),
    .exports = exports,
    .export_count = sizeof exports / sizeof exports[0],
    .create = create,
    .hooks = hooks,
    .destroy = destroy,
};

OUTLET_MODULE(descriptor)

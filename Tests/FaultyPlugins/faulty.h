/* faulty.h - the parts of a plugin that a fixture gets right. */
#include <outlet/outlet.h>
#include <stdlib.h>

struct outlet_instance {
    const outlet_host *host;
};

/* Not every fixture needs every part. */
#define PART __attribute__((unused)) static

PART outlet_status make(const outlet_descriptor *descriptor, const outlet_host *host,
                        outlet_call call, const outlet_config *config,
                        outlet_instance **out) {
    (void)descriptor, (void)call, (void)config;
    outlet_instance *self = calloc(1, sizeof *self);
    if (self == NULL) return OUTLET_E_FAILED;
    self->host = host;
    *out = self;
    return OUTLET_OK;
}

PART void unmake(outlet_instance *self) { free(self); }

/* Copies a setting to text; leaves text alone where there is none, or where it is too long. */
PART void setting(const outlet_host *host, outlet_call call, const char *key, char *text,
                  size_t size) {
    outlet_view value;
    if (host->config_value(host, call, outlet_text(key), &value) != OUTLET_OK) return;
    if (value.len >= size) return;
    memcpy(text, value.ptr, value.len);
    text[value.len] = 0;
}

/* A descriptor's fields up to what a fixture adds. */
#define DESCRIPTOR(id_)                                                                 \
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT(id_),                   \
    .version = OUTLET_TEXT("1.0.0"), .create = make, .destroy = unmake

/* The descriptor of a plugin whose one hook is prepare, and nothing else is its own. */
#define PREPARES(id_)                                                                   \
    static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),             \
                                       .prepare = prepare};                             \
    static const outlet_hooks *hooks(outlet_instance *self) {                           \
        (void)self;                                                                     \
        return &table;                                                                  \
    }                                                                                   \
    static const outlet_descriptor descriptor = {DESCRIPTOR(id_), .hooks = hooks};      \
    OUTLET_MODULE(descriptor)

/* The head of its prepare. */
#define PREPARE                                                                         \
    static outlet_status prepare(outlet_instance *self, outlet_call call,               \
                                 outlet_request request, outlet_completion completion)

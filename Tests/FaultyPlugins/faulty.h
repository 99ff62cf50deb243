/* faulty.h - the parts of a plugin that fixtures have in common and that keep the rules of the ABI.
 *
 * A fixture breaks one rule, or, if its first comment says so, none. The host loads fixtures in
 * unit tests. The checker (`outlet plugins check`) must report the broken rule. */
#include <outlet/outlet.h>
#include <stdlib.h>

struct outlet_instance {
    const outlet_host *host;
};

/* Silences the warning in fixtures that do not use the function. */
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

/* Copies a setting to `text`; leaves `text` unchanged if the setting is missing or too long. */
PART void setting(const outlet_host *host, outlet_call call, const char *key, char *text,
                  size_t size) {
    outlet_view value;
    if (host->config_value(host, call, outlet_text(key), &value) != OUTLET_OK) return;
    if (value.len >= size) return;
    memcpy(text, value.ptr, value.len);
    text[value.len] = 0;
}

/* The fields of a descriptor that every plugin needs; a fixture adds others. */
#define DESCRIPTOR(id_)                                                                 \
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT(id_),                   \
    .version = OUTLET_TEXT("1.0.0"), .create = make, .destroy = unmake

/* Defines the module of a plugin whose only hook is prepare. */
#define PREPARES(id_) PREPARES_WITH(id_, 0)

/* As PREPARES, with flags of the descriptor. */
#define PREPARES_WITH(id_, flags_)                                                      \
    static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),             \
                                       .prepare = prepare};                             \
    static const outlet_hooks *hooks(outlet_instance *self) {                           \
        (void)self;                                                                     \
        return &table;                                                                  \
    }                                                                                   \
    static const outlet_descriptor descriptor = {DESCRIPTOR(id_), .flags = (flags_),    \
                                                 .hooks = hooks};                       \
    OUTLET_MODULE(descriptor)

/* The head of the definition of its prepare. */
#define PREPARE                                                                         \
    static outlet_status prepare(outlet_instance *self, outlet_call call,               \
                                 outlet_request request, outlet_completion completion)

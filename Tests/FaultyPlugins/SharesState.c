/* Its instances share state ("what"): "name", with which the header field that prepare sets has the name that the last
 * instance was created with, or "end", with which such instances refuse requests after one has ended. The checker must
 * report it. With "none" it breaks no rule, though the field has another value in each request. */
#include "faulty.h"

struct naming {
    outlet_instance base;
    char what[8], name[32];
};

static char last_name[32];
static int has_ended;
static unsigned requests;

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct naming *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    strcpy(self->name, "X-Name");
    setting(host, call, "what", self->what, sizeof self->what);
    setting(host, call, "name", self->name, sizeof self->name);
    strcpy(last_name, self->name);
    *out = &self->base;
    return OUTLET_OK;
}

PREPARE {
    (void)completion;
    struct naming *naming = (struct naming *)self;
    const char number[] = {(char)('0' + __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED) % 7), 0};
    if (has_ended && strcmp(naming->what, "end") == 0) {
        self->host->fail(self->host, call, outlet_text("ended"), outlet_text("it has ended"));
        return OUTLET_E_FAILED;
    }
    const char *name = strcmp(naming->what, "name") == 0 ? last_name : naming->name;
    return self->host->request_set_header(self->host, request, outlet_text(name), outlet_text(number));
}

static void destroy(outlet_instance *instance) {
    if (strcmp(((struct naming *)instance)->what, "end") == 0) has_ended = 1;
    free(instance);
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.shares-state"),
    .version = OUTLET_TEXT("1.0.0"),
    .config_schema = OUTLET_TEXT(
        "{\"properties\": {\"what\": {\"enum\": [\"name\", \"end\", \"none\"]},"
        "\"name\": {\"type\": \"string\", \"pattern\": \"^[A-Za-z-]{1,31}$\"}}}"),
    .create = create, .hooks = hooks, .destroy = destroy};
OUTLET_MODULE(descriptor)

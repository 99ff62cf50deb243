/* Three plugins in one file, of which the second leaks 9000 bytes in create or prepare ("at"). The checker must
 * report it and name that one only. */
#include "faulty.h"

struct leaking {
    outlet_instance base;
    char at[16];
};

static void leak(struct leaking *self, const char *at) {
    if (strcmp(self->at, at) != 0) return;
    char *volatile lost = malloc(9000);
    if (lost == NULL) abort();
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct leaking *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "at", self->at, sizeof self->at);
    leak(self, "create");
    *out = &self->base;
    return OUTLET_OK;
}

PREPARE {
    (void)call, (void)request, (void)completion;
    leak((struct leaking *)self, "prepare");
    return OUTLET_OK;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor first = {DESCRIPTOR("several-leak.first")};
static const outlet_descriptor second = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("several-leak.second"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .destroy = unmake};
static const outlet_descriptor third = {DESCRIPTOR("several-leak.third")};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_descriptor *const descriptors[] = {&first, &second, &third};
    static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 3, descriptors};
    (void)host_minor;
    return &module;
}

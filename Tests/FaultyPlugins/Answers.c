/* Fails without a reason, crashes, exits or waits in serialize or trust, as its configuration says
 * ("hook", "how"). The checker must report it, and the program must name the hook in which the
 * plugin crashes.
 *
 * With "keep" as "how", the export calls the caller's function of an earlier call, which the
 * host must ignore and record. */
#include "faulty.h"
#include <unistd.h>

struct answers {
    outlet_instance base;
    char hook[16];
    char how[16];
};

static outlet_status go_wrong(outlet_instance *instance, const char *hook) {
    struct answers *self = (struct answers *)instance;
    if (strcmp(self->hook, hook) != 0) return OUTLET_OK;
    if (strcmp(self->how, "_exit") == 0) _exit(3);
    if (strcmp(self->how, "abort") == 0) abort();
    if (strcmp(self->how, "wait") == 0) usleep(20000);
    if (strcmp(self->how, "fault") == 0) {
        volatile int *volatile nowhere = NULL;
        *nowhere = 1;
    }
    return strcmp(self->how, "fail") == 0 ? OUTLET_E_FAILED : OUTLET_OK;
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    struct answers *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "hook", self->hook, sizeof self->hook);
    setting(host, call, "how", self->how, sizeof self->how);
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status serialize(outlet_instance *self, outlet_call call, outlet_request request,
                               outlet_response response, outlet_sink sink, outlet_view *type) {
    (void)call, (void)request, (void)response;
    *type = outlet_text("text");
    outlet_status status = self->host->sink_write(self->host, sink, outlet_text("value"));
    return status == OUTLET_OK ? go_wrong(self, "serialize") : status;
}

static outlet_status trust(outlet_instance *self, outlet_call call, const outlet_trust *server) {
    (void)call, (void)server;
    return go_wrong(self, "trust");
}

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .serialize = serialize, .trust = trust};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

/* Calls the caller's function; with "keep", that of the previous call, which is no longer valid. */
static void callback(outlet_instance *self, uint8_t (*function)(outlet_view)) {
    static uint8_t (*kept)(outlet_view);
    if (strcmp(((struct answers *)self)->how, "keep") != 0) {
        function(outlet_text("x"));
    } else if (kept != NULL) {
        kept(outlet_text("late"));
    }
    kept = function;
}

static const outlet_export callbacks = {.struct_size = sizeof(outlet_export),
                                        .name = OUTLET_TEXT("callback"),
                                        .signature = OUTLET_TEXT("v(f{b(s)})"),
                                        .function = (outlet_function)callback};
static const outlet_export *const exports[] = {&callbacks};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor),
    .flags = OUTLET_F_NONBLOCKING,
    .id = OUTLET_TEXT("faulty.answers"),
    .version = OUTLET_TEXT("1.0.0"),
    .exports = exports,
    .export_count = 1,
    .create = create,
    .hooks = hooks,
    .destroy = unmake,
};
OUTLET_MODULE(descriptor)

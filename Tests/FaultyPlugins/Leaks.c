/* Leaks a descriptor, memory or a thread ("what") in each create or each prepare ("at"). The
 * checker must report it. */
#include "faulty.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

struct leaking {
    outlet_instance base;
    char at[16], what[16];
};

static void *wait_for_ever(void *context) {
    (void)context;
    for (;;) pause();
    return NULL;
}

static void leak(struct leaking *self, const char *at) {
    if (strcmp(self->at, at) != 0) return;
    if (strcmp(self->what, "descriptor") == 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
    if (strcmp(self->what, "memory") == 0) {
        char *volatile lost = malloc(100000);
        if (lost == NULL) abort();
    }
    if (strcmp(self->what, "thread") == 0) {
        pthread_t thread;
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 65536);
        if (pthread_create(&thread, &small, wait_for_ever, NULL) != 0) abort();
        pthread_attr_destroy(&small);
    }
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct leaking *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "at", self->at, sizeof self->at);
    setting(host, call, "what", self->what, sizeof self->what);
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

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.leaks"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .destroy = unmake};
OUTLET_MODULE(descriptor)

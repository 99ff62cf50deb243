/* Leaks something ("what") in a function or hook ("at"): "at" is create, prepare, redirect, cancel,
 * reconfigure or function, which is an exported one. Leaks in each call, or in one of "every" calls. The
 * checker must report it.
 *
 * "what" is descriptor, thread, threads (1,000 of them), timer, memory, which has "size" bytes, mapping,
 * or descriptors, of which the first call leaks 200. With "cache" it keeps the memory of the last 64 calls,
 * and with "stacks" more and more threads run in a call, and end in it; both are allowed. */
#include "faulty.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct leaking {
    outlet_instance base;
    char at[16], what[24], every[8], size[8];
    unsigned calls;
    void *cache[64];
};

static void *wait_for_ever(void *context) {
    (void)context;
    for (;;) pause();
    return NULL;
}

static void leak_thread(void) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    if (pthread_create(&thread, &small, wait_for_ever, NULL) != 0) abort();
    pthread_attr_destroy(&small);
}

static void *end(void *context) { return context; }

/* Runs threads at the same time, and waits for their end. */
static void run_threads(unsigned count) {
    pthread_t threads[64];
    pthread_attr_t small;
    if (count > 64) count = 64;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 18);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], &small, end, NULL) != 0) abort();
    pthread_attr_destroy(&small);
    for (unsigned i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static void leak_timer(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) abort();
}

static void leak(struct leaking *self, const char *at) {
    const char *what = self->what;
    if (strcmp(self->at, at) != 0) return;
    unsigned number = __atomic_fetch_add(&self->calls, 1, __ATOMIC_RELAXED);
    if (self->every[0] != 0 && number % (unsigned)atoi(self->every) != 0) return;
    if (strcmp(what, "descriptor") == 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
    for (int i = 0; i < 200 && number == 0 && strcmp(what, "descriptors") == 0; i++)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
    if (strcmp(what, "thread") == 0) leak_thread();
    for (int i = 0; i < 1000 && strcmp(what, "threads") == 0; i++) leak_thread();
    if (strcmp(what, "stacks") == 0) run_threads(1 + number / 20);
    if (strcmp(what, "timer") == 0) leak_timer();
    if (strcmp(what, "mapping") == 0
        && mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        abort();
    if (strcmp(what, "memory") == 0) {
        char *volatile lost = malloc(self->size[0] != 0 ? (size_t)atoi(self->size) : 100000);
        if (lost == NULL) abort();
    }
    if (strcmp(what, "cache") == 0) {
        void *volatile kept = malloc(8192);
        free(__atomic_exchange_n(&self->cache[number % 64], kept, __ATOMIC_ACQ_REL));
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
    setting(host, call, "every", self->every, sizeof self->every);
    setting(host, call, "size", self->size, sizeof self->size);
    leak(self, "create");
    *out = &self->base;
    return OUTLET_OK;
}

static void destroy(outlet_instance *instance) {
    struct leaking *self = (struct leaking *)instance;
    for (int i = 0; i < 64; i++) free(self->cache[i]);
    free(self);
}

PREPARE {
    (void)call, (void)request, (void)completion;
    leak((struct leaking *)self, "prepare");
    return OUTLET_OK;
}

static outlet_status redirect(outlet_instance *self, outlet_call call, outlet_request request,
                              outlet_response response, outlet_request next,
                              outlet_completion completion) {
    (void)call, (void)request, (void)response, (void)next, (void)completion;
    leak((struct leaking *)self, "redirect");
    return OUTLET_OK;
}

static void cancel(outlet_instance *self, outlet_completion completion) {
    (void)completion;
    leak((struct leaking *)self, "cancel");
}

static outlet_status reconfigure(outlet_instance *self, outlet_call call,
                                 const outlet_config *config) {
    (void)call, (void)config;
    leak((struct leaking *)self, "reconfigure");
    return OUTLET_OK;
}

static outlet_status function(outlet_instance *self, outlet_sink sink) {
    leak((struct leaking *)self, "function");
    return self->host->sink_write(self->host, sink, outlet_text("x"));
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare,
                                   .redirect = redirect, .cancel = cancel};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_export leaking_function = {.struct_size = sizeof(outlet_export),
                                               .name = OUTLET_TEXT("leak"),
                                               .signature = OUTLET_TEXT("e(o)"),
                                               .function = (outlet_function)function};
static const outlet_export *const exports[] = {&leaking_function};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.leaks"),
    .version = OUTLET_TEXT("1.0.0"), .exports = exports, .export_count = 1, .create = create,
    .hooks = hooks, .reconfigure = reconfigure, .destroy = destroy};
OUTLET_MODULE(descriptor)

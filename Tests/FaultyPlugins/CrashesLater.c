/* Two plugins that leave the work of their hooks to one thread, which the first hook starts, as the hooks of Swift
 * plugins do. The program must name the plugin, the hook and the request of the work in which the thread crashes.
 *
 * Settings:
 *
 *   hook    the only hook: adapt or process; none if not set
 *   how     what happens there: "settle": the thread settles the completion; "crash": the thread crashes;
 *           "timer": a timer lets the thread crash, and the completion stays pending; "wait": a timer waits for the end
 *           of the process, and the hook returns; "crash-both": the thread crashes once a timer waits; "exit": as
 *           "settle", and the thread crashes when the process exits; "never": as "exit", but the completion stays
 *           pending, and quiesce as well */
#include "faulty.h"
#include <pthread.h>
#include <unistd.h>

struct later {
    outlet_instance base;
    const outlet_timers *timers;
    char hook[16], how[16];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static enum { none, settle, crash } job;
static const outlet_host *host_of_job;
static outlet_completion completion_of_job;
static int is_started, is_timer_waiting;

static void *work(void *nothing) {
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (job == none) pthread_cond_wait(&condition, &mutex);
        if (job == crash) abort();
        const outlet_host *host = host_of_job;
        outlet_completion completion = completion_of_job;
        job = none;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
        host->done(host, completion, OUTLET_OK, outlet_text(""), outlet_text(""));
        pthread_mutex_lock(&mutex);
    }
    return nothing;
}

static void post(int what, const outlet_host *host, outlet_completion completion) {
    pthread_mutex_lock(&mutex);
    while (job != none) pthread_cond_wait(&condition, &mutex);
    job = what;
    host_of_job = host;
    completion_of_job = completion;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

static void wait_for_end(void) {
    for (;;) pause();
}

static void crash_at_exit(void) {
    post(crash, NULL, (outlet_completion){0});
    wait_for_end();
}

static void crash_by_timer(outlet_instance *self, outlet_call call, outlet_status status, void *data) {
    (void)self, (void)call, (void)status, (void)data;
    post(crash, NULL, (outlet_completion){0});
    wait_for_end();
}

static void wait_in_timer(outlet_instance *self, outlet_call call, outlet_status status, void *data) {
    (void)self, (void)call, (void)status, (void)data;
    pthread_mutex_lock(&mutex);
    is_timer_waiting = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    wait_for_end();
}

static outlet_status run(outlet_instance *instance, outlet_completion completion) {
    const struct later *self = (const struct later *)instance;
    const outlet_host *host = self->base.host;
    const char *how = self->how;
    outlet_timer timer;
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    int is_first = !is_started;
    is_started = 1;
    pthread_mutex_unlock(&mutex);
    if (is_first && pthread_create(&thread, NULL, work, NULL) != 0) return OUTLET_E_FAILED;
    if (strcmp(how, "wait") == 0) return self->timers->start(host, 1, wait_in_timer, NULL, &timer);
    if (strcmp(how, "timer") == 0) {
        outlet_status status = self->timers->start(host, 1, crash_by_timer, NULL, &timer);
        return status == OUTLET_OK ? OUTLET_PENDING : status;
    }
    if (strcmp(how, "crash-both") == 0) {
        pthread_mutex_lock(&mutex);
        while (!is_timer_waiting) pthread_cond_wait(&condition, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    if (strncmp(how, "crash", 5) == 0) post(crash, host, completion);
    if (strcmp(how, "settle") == 0 || strcmp(how, "exit") == 0) post(settle, host, completion);
    if (strcmp(how, "exit") == 0 || strcmp(how, "never") == 0) atexit(crash_at_exit);
    return OUTLET_PENDING;
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct later *self = calloc(1, sizeof *self);
    const void *table;
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "hook", self->hook, sizeof self->hook);
    setting(host, call, "how", self->how, sizeof self->how);
    if (host->extension(host, outlet_text(OUTLET_TIMER_1), &table) == OUTLET_OK) self->timers = table;
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    (void)call, (void)request;
    return run(self, completion);
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)call, (void)request, (void)response;
    return run(self, completion);
}

static const outlet_hooks adapts = {.struct_size = sizeof(outlet_hooks), .adapt = adapt};
static const outlet_hooks processes = {.struct_size = sizeof(outlet_hooks), .process = process};

static const outlet_hooks *hooks(outlet_instance *instance) {
    const char *hook = ((const struct later *)instance)->hook;
    return strcmp(hook, "adapt") == 0 ? &adapts : strcmp(hook, "process") == 0 ? &processes : NULL;
}

static outlet_status quiesce(outlet_instance *self, outlet_call call) {
    (void)call;
    return strcmp(((const struct later *)self)->how, "never") == 0 ? OUTLET_PENDING : OUTLET_OK;
}

#define LATER(id_)                                                                      \
    {.struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT(id_),                  \
     .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks,                 \
     .quiesce = quiesce, .destroy = unmake}

static const outlet_descriptor one = LATER("faulty.later-one");
static const outlet_descriptor two = LATER("faulty.later-two");

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_descriptor *const descriptors[] = {&one, &two};
    static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 2, descriptors};
    (void)host_minor;
    return &module;
}

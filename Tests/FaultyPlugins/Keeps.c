/* Stores memory for each call with request_set_slot and frees it in request_done; that is allowed.
 * The host must call request_done exactly once for each call, after all other hooks.
 *
 * Settings: "at" names a hook, "how" what it does: "pend" returns OUTLET_PENDING, "block" blocks
 * its thread, "settle" settles the completion and then tries to change the request. The export
 * "release" ends the wait; the other exports return counters. quiesce logs its deadline.
 *
 * Two plugins: "faulty.keeps-quick" has OUTLET_F_NONBLOCKING and only the hook prepare. */
#include "faulty.h"
#include <pthread.h>
#include <stdio.h>
#include <time.h>

struct keeper {
    outlet_instance base;
    char at[16], how[16];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    outlet_completion promised;
    int has_promised, is_released, cancels, live, done, hooks, late;
};

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct keeper *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    setting(host, call, "at", self->at, sizeof self->at);
    setting(host, call, "how", self->how, sizeof self->how);
    *out = &self->base;
    return OUTLET_OK;
}

/* Counts a hook in the memory of its call, which the first hook allocates. */
static void see(struct keeper *self, outlet_request request) {
    const outlet_host *host = self->base.host;
    void *slot;
    if (host->request_slot(host, request, &slot) != OUTLET_OK) abort();
    if (slot == NULL) {
        slot = calloc(1, sizeof(int));
        if (host->request_set_slot(host, request, slot) != OUTLET_OK) abort();
        pthread_mutex_lock(&self->mutex);
        self->live++;
        pthread_mutex_unlock(&self->mutex);
    }
    ++*(int *)slot;
}

static outlet_status act(struct keeper *self, const char *hook, outlet_request request,
                         outlet_completion completion) {
    const outlet_host *host = self->base.host;
    outlet_status status = OUTLET_OK;
    see(self, request);
    if (strcmp(self->at, hook) != 0) return OUTLET_OK;
    pthread_mutex_lock(&self->mutex);
    if (strcmp(self->how, "pend") == 0) {
        self->promised = completion;
        self->has_promised = 1;
        status = OUTLET_PENDING;
    } else if (strcmp(self->how, "block") == 0) {
        self->has_promised = 1;
        while (!self->is_released) pthread_cond_wait(&self->changed, &self->mutex);
    } else if (strcmp(self->how, "settle") == 0) {
        host->done(host, completion, OUTLET_OK, outlet_text(""), outlet_text(""));
        self->late = host->request_set_header(host, request, outlet_text("X-Late"), outlet_text("1"));
    }
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    (void)call;
    return act((struct keeper *)self, "adapt", request, completion);
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)call;
    return act((struct keeper *)self, "prepare", request, completion);
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    const outlet_completion none = {0};
    (void)call;
    act((struct keeper *)self, "will_send", request, none);
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    const outlet_host *host = self->host;
    (void)call, (void)response;
    see((struct keeper *)self, request);
    if (attempt > 1) return OUTLET_OK;
    host->retry_done(host, completion, OUTLET_RETRY_NOW, 0, outlet_text(""), outlet_text(""));
    return OUTLET_OK;
}

static void did_receive(outlet_instance *self, outlet_call call, outlet_request request,
                        outlet_response response) {
    const outlet_completion none = {0};
    (void)call, (void)response;
    act((struct keeper *)self, "did_receive", request, none);
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)call, (void)response;
    return act((struct keeper *)self, "process", request, completion);
}

static void request_done(outlet_instance *self, outlet_call call, outlet_request request) {
    struct keeper *keeper = (struct keeper *)self;
    void *slot;
    (void)call;
    if (self->host->request_slot(self->host, request, &slot) != OUTLET_OK || slot == NULL) abort();
    pthread_mutex_lock(&keeper->mutex);
    keeper->live--;
    keeper->done++;
    keeper->hooks += *(int *)slot;
    pthread_mutex_unlock(&keeper->mutex);
    free(slot);
}

static void cancel(outlet_instance *self, outlet_completion completion) {
    struct keeper *keeper = (struct keeper *)self;
    (void)completion;
    pthread_mutex_lock(&keeper->mutex);
    keeper->cancels++;
    pthread_mutex_unlock(&keeper->mutex);
}

/* Logs how much time the host gives. */
static outlet_status quiesce(outlet_instance *self, outlet_call call) {
    struct timespec now;
    uint64_t deadline = 0;
    char text[64];
    self->host->deadline_ns(self->host, call, &deadline);
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t rest = (int64_t)deadline - now.tv_sec * 1000000000 - now.tv_nsec;
    snprintf(text, sizeof text, "%d ms", (int)(rest / 1000000));
    self->host->log(self->host, call, OUTLET_LOG_INFO, outlet_text(text), NULL, 0);
    return OUTLET_OK;
}

static int32_t release(outlet_instance *self) {
    struct keeper *keeper = (struct keeper *)self;
    const outlet_host *host = self->host;
    pthread_mutex_lock(&keeper->mutex);
    keeper->is_released = 1;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
    return host->done(host, keeper->promised, OUTLET_OK, outlet_text(""), outlet_text(""));
}

#define COUNT(name_, field_)                              \
    static int32_t name_(outlet_instance *self) {         \
        struct keeper *keeper = (struct keeper *)self;    \
        int32_t count;                                    \
        pthread_mutex_lock(&keeper->mutex);               \
        count = keeper->field_;                           \
        pthread_mutex_unlock(&keeper->mutex);             \
        return count;                                     \
    }
COUNT(promised, has_promised)
COUNT(cancels, cancels)
COUNT(live, live)
COUNT(finished, done)
COUNT(hooks_seen, hooks)
COUNT(late, late)

#define EXPORT(name_)                                                                        \
    static const outlet_export export_##name_ = {                                            \
        sizeof(outlet_export), OUTLET_X_ANY_THREAD, OUTLET_TEXT(#name_), OUTLET_TEXT("i()"), \
        OUTLET_TEXT(""),       (outlet_function)name_}
EXPORT(release);
EXPORT(promised);
EXPORT(cancels);
EXPORT(live);
EXPORT(finished);
EXPORT(hooks_seen);
EXPORT(late);

static const outlet_export *const exports[] = {&export_release, &export_promised, &export_cancels,
                                               &export_live,    &export_finished, &export_hooks_seen,
                                               &export_late};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .will_send = will_send,
                                   .did_receive = did_receive,
                                   .process = process,
                                   .adapt = adapt,
                                   .retry = retry,
                                   .cancel = cancel,
                                   .request_done = request_done};
static const outlet_hooks quick_table = {.struct_size = sizeof(outlet_hooks),
                                         .prepare = prepare,
                                         .cancel = cancel,
                                         .request_done = request_done};

/* Only the plugin that the test configures with "at" has hooks. */
static const outlet_hooks *hooks(outlet_instance *self) {
    return ((struct keeper *)self)->at[0] == 0 ? NULL : &table;
}

static const outlet_hooks *quick_hooks(outlet_instance *self) {
    return ((struct keeper *)self)->at[0] == 0 ? NULL : &quick_table;
}

#define KEEPER(id_)                                                                             \
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT(id_),                           \
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .exports = exports,   \
    .quiesce = quiesce, .export_count = sizeof exports / sizeof exports[0]

static const outlet_descriptor blocking = {KEEPER("faulty.keeps"), .flags = OUTLET_F_CONCURRENT,
                                           .hooks = hooks};
static const outlet_descriptor quick = {KEEPER("faulty.keeps-quick"),
                                        .flags = OUTLET_F_NONBLOCKING, .hooks = quick_hooks};

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_descriptor *const descriptors[] = {&blocking, &quick};
    static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 2, descriptors};
    (void)host_minor;
    return &module;
}

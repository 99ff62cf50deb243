/* Its thread uses the request and the completion of adapt while destroy runs, when both handles
 * are no longer valid. The host must return OUTLET_E_STALE and record the use of the request. */
#include "faulty.h"
#include <pthread.h>
#include <stdatomic.h>

static const outlet_host *host;
static outlet_request kept_request;
static outlet_completion kept_completion;
static pthread_t thread;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int may_run;
static int started;

static void *work(void *context) {
    (void)context;
    pthread_mutex_lock(&mutex);
    while (!may_run) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    outlet_view url;
    if (host->request_url(host, kept_request, &url) != OUTLET_E_STALE) abort();
    if (host->request_set_header(host, kept_request, outlet_text("A"), outlet_text("b")) !=
        OUTLET_E_STALE) {
        abort();
    }
    if (host->done(host, kept_completion, OUTLET_OK, outlet_text(""), outlet_text("")) !=
        OUTLET_E_STALE) {
        abort();
    }
    if (host->is_awaited(host, kept_completion) != OUTLET_E_CANCELLED) abort();
    return NULL;
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    (void)call;
    host = self->host;
    kept_request = request;
    kept_completion = completion;
    started = pthread_create(&thread, NULL, work, NULL) == 0;
    return OUTLET_PENDING;
}

static void destroy(outlet_instance *self) {
    free(self);
    if (!started) return;
    pthread_mutex_lock(&mutex);
    may_run = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    /* A correct plugin joins its threads in quiesce. This one joins here, so that the thread has
     * ended when the test reads what the host recorded. */
    pthread_join(thread, NULL);
}

static int64_t has_started(outlet_instance *self) {
    (void)self;
    return started;
}

static const outlet_export export = {sizeof(outlet_export), 0, OUTLET_TEXT("started"),
                                     OUTLET_TEXT("l()"), OUTLET_TEXT(""),
                                     (outlet_function)has_started};
static const outlet_export *const exports[] = {&export};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .adapt = adapt};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .flags = OUTLET_F_SPAWNS,
    .id = OUTLET_TEXT("faulty.late-settle"), .version = OUTLET_TEXT("1.0.0"), .create = make,
    .hooks = hooks, .destroy = destroy, .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)

/* Its adapt goes on in a thread with a stack of 48 KiB, which changes the request, logs and settles the completion;
 * that is allowed. */
#include "faulty.h"
#include <pthread.h>

struct work {
    const outlet_host *host;
    outlet_call call;
    outlet_request request;
    outlet_completion completion;
};

static void *run(void *data) {
    const struct work *work = data;
    const outlet_host *host = work->host;
    const outlet_view none = {0};
    host->request_set_header(host, work->request, outlet_text("X-Stack"), outlet_text("small"));
    host->log(host, work->call, OUTLET_LOG_WARNING, outlet_text("on a small stack"), NULL, 0);
    host->done(host, work->completion, OUTLET_OK, none, none);
    free(data);
    return NULL;
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    struct work *work = malloc(sizeof *work);
    pthread_attr_t attributes;
    pthread_t thread;
    if (work == NULL) return OUTLET_E_FAILED;
    *work = (struct work){self->host, call, request, completion};
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 48 * 1024);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, run, work) == 0) return OUTLET_PENDING;
    free(work);
    return OUTLET_E_FAILED;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .adapt = adapt};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.small-stack"), .flags = OUTLET_F_SPAWNS,
                                             .hooks = hooks};
OUTLET_MODULE(descriptor)

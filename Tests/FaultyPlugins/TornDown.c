/* Its threads settle the completion of prepare many times, also while and after the plugin is
 * shut down. The host must return OUTLET_E_STALE for all but the first, and the checker must
 * report it. */
#include "faulty.h"

#include <pthread.h>
#include <unistd.h>

/* Does not contain the instance, which is freed before the thread ends. */
struct work {
    const outlet_host *host;
    outlet_completion completion;
};

static void *settle(void *context) {
    struct work work = *(struct work *)context;
    free(context);
    for (int tries = 0; tries < 20; tries++) {
        work.host->done(work.host, work.completion, OUTLET_OK, outlet_text(""), outlet_text(""));
        usleep(1000);
    }
    return NULL;
}

PREPARE {
    pthread_t thread;
    struct work *work = malloc(sizeof *work);
    (void)call, (void)request;
    if (work == NULL) return OUTLET_OK;
    work->host = self->host;
    work->completion = completion;
    if (pthread_create(&thread, NULL, settle, work) != 0) {
        free(work);
        return OUTLET_OK;
    }
    pthread_detach(thread);
    return OUTLET_PENDING;
}
PREPARES("faulty.torn-down")

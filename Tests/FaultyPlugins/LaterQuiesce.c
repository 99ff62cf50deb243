/* Its quiesce returns OUTLET_PENDING, and a thread calls quiesced later; that is allowed. The
 * host must wait for it before destroy. */
#include "faulty.h"
#include <pthread.h>

static void *work(void *context) {
    outlet_instance *self = context;
    if (self->host->quiesced(self->host) != OUTLET_OK) abort();
    return NULL;
}

static outlet_status quiesce(outlet_instance *self, outlet_call call) {
    pthread_t thread;
    (void)call;
    if (pthread_create(&thread, NULL, work, self) != 0) return OUTLET_OK;
    pthread_detach(thread);
    return OUTLET_PENDING;
}

static const outlet_descriptor descriptor = {
    DESCRIPTOR("faulty.later-quiesce"), .quiesce = quiesce};
OUTLET_MODULE(descriptor)

/* A thread of its own logs also after destroy, until the host refuses that for its end. The host must name it. */
#include "faulty.h"

#include <pthread.h>
#include <unistd.h>

static const outlet_host *host_;

static void *log_on(void *unused) {
    const outlet_call none = {0};
    (void)unused;
    do usleep(1000);
    while (host_->log(host_, none, OUTLET_LOG_DEBUG, outlet_text("still here"), NULL, 0) != OUTLET_E_STALE);
    return NULL;
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    pthread_t thread;
    host_ = host;
    if (pthread_create(&thread, NULL, log_on, NULL) != 0) return OUTLET_E_FAILED;
    pthread_detach(thread);
    return make(descriptor, host, call, config, out);
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.logs-after-end"),
    .version = OUTLET_TEXT("1.0.0"), .flags = OUTLET_F_PER_PROCESS | OUTLET_F_SPAWNS, .create = create,
    .destroy = unmake};
OUTLET_MODULE(descriptor)

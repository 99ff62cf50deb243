/* Starts one thread in the process, which never ends: it works every 20 ms ("how" is "work"), which the checker must
 * report, or only waits, which is allowed. */
#include "faulty.h"

#include <pthread.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char how[8] = "wait";

static void *run(void *context) {
    (void)context;
    if (strcmp(how, "work") != 0) pause();
    for (;;) usleep(20000);
    return NULL;
}

static void start(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) abort();
    pthread_detach(thread);
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    setting(host, call, "how", how, sizeof how);
    pthread_once(&once, start);
    return make(descriptor, host, call, config, out);
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.works-after-end"),
    .version = OUTLET_TEXT("1.0.0"), .flags = OUTLET_F_SPAWNS, .create = create,
    .destroy = unmake};
OUTLET_MODULE(descriptor)

/* Refuses a "name" of more than 8 bytes, and then leaks something ("what"): descriptor, memory or thread. With
 * "at" it does so in create or reconfigure. The checker must report it. */
#include "faulty.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void *wait_for_ever(void *context) {
    (void)context;
    for (;;) pause();
    return NULL;
}

static void leak(const char *what) {
    pthread_t thread;
    if (strcmp(what, "descriptor") == 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
    if (strcmp(what, "thread") == 0 && pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) abort();
    if (strcmp(what, "memory") == 0) {
        char *volatile lost = malloc(4000);
        if (lost == NULL) abort();
    }
}

/* Checks a configuration in the function with this name. */
static outlet_status check(const outlet_host *host, outlet_call call, const char *function) {
    char at[16] = "", what[16] = "";
    outlet_view name;
    setting(host, call, "at", at, sizeof at);
    setting(host, call, "what", what, sizeof what);
    if (host->config_value(host, call, outlet_text("name"), &name) != OUTLET_OK || name.len <= 8)
        return OUTLET_OK;
    if (strcmp(at, function) == 0) leak(what);
    host->fail(host, call, outlet_text("long"), outlet_text("the name has more than 8 bytes"));
    return OUTLET_E_ARGUMENT;
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    outlet_status status = check(host, call, "create");
    return status == OUTLET_OK ? make(descriptor, host, call, config, out) : status;
}

static outlet_status reconfigure(outlet_instance *self, outlet_call call,
                                 const outlet_config *config) {
    (void)config;
    return check(self->host, call, "reconfigure");
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.leaks-when-refused"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .reconfigure = reconfigure,
    .destroy = unmake};
OUTLET_MODULE(descriptor)

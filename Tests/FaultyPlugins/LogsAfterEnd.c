/* A thread of its own uses the host also after destroy, until the host refuses that for its end. The host must name
 * it. "with" says which function it calls: "log" (the default), "timer", "send", "extension", "quiesced" or
 * "is_awaited". */
#include "faulty.h"

#include <pthread.h>
#include <unistd.h>

static const outlet_host *host_;
static char with[16];
static _Atomic int is_over;
static const void *timers, *sender;

static void ignore_timer(outlet_instance *self, outlet_call call, outlet_status status, void *data) {
    (void)self, (void)call, (void)status, (void)data;
}

static void ignore_answer(outlet_instance *self, outlet_call call, outlet_response response, void *data) {
    (void)self, (void)call, (void)response, (void)data;
}

static outlet_status use(void) {
    const outlet_call none = {0};
    const outlet_completion nothing = {0};
    const void *table;
    outlet_timer timer;
    outlet_exchange exchange;
    const outlet_http_request request = {.struct_size = sizeof request, .url = OUTLET_TEXT("http://127.0.0.1:1/")};
    if (strcmp(with, "timer") == 0)
        return ((const outlet_timers *)timers)->start(host_, 1000000000, ignore_timer, NULL, &timer);
    if (strcmp(with, "send") == 0)
        return ((const outlet_http *)sender)->send(host_, none, &request, ignore_answer, NULL, &exchange);
    if (strcmp(with, "extension") == 0) return host_->extension(host_, outlet_text(OUTLET_TIMER_1), &table);
    if (strcmp(with, "quiesced") == 0) return host_->quiesced(host_);
    if (strcmp(with, "is_awaited") == 0) return host_->is_awaited(host_, nothing);
    return host_->log(host_, none, OUTLET_LOG_DEBUG, outlet_text("still here"), NULL, 0);
}

static void *go_on(void *unused) {
    (void)unused;
    while (!is_over) usleep(1000);
    /* Until destroy has returned; is_awaited never says so. */
    for (int i = 0; i < 1000 && use() != OUTLET_E_STALE; i++) usleep(1000);
    return NULL;
}

static void destroy(outlet_instance *self) {
    is_over = 1;
    unmake(self);
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    pthread_t thread;
    host_ = host;
    setting(host, call, "with", with, sizeof with);
    host->extension(host, outlet_text(OUTLET_TIMER_1), &timers);
    host->extension(host, outlet_text(OUTLET_HTTP_1), &sender);
    if (pthread_create(&thread, NULL, go_on, NULL) != 0) return OUTLET_E_FAILED;
    pthread_detach(thread);
    return make(descriptor, host, call, config, out);
}

static const outlet_view permissions[] = {OUTLET_TEXT("net:127.0.0.1")};

static const outlet_descriptor descriptor = {
    .permissions = permissions, .permission_count = 1,
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.logs-after-end"),
    .version = OUTLET_TEXT("1.0.0"), .flags = OUTLET_F_PER_PROCESS | OUTLET_F_SPAWNS, .create = create,
    .destroy = destroy};
OUTLET_MODULE(descriptor)

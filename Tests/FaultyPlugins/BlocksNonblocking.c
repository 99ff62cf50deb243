/* Its prepare sleeps for 1 ms although the descriptor has OUTLET_F_NONBLOCKING; for ever if its
 * setting "until" is "ever", and every fifth time if it is "fifth". The checker must report it. If the
 * setting is "redirect", only its redirect sleeps. If it is "answer", none does, and prepare answers all
 * requests, so that the checker can measure none of redirect. */
#include "faulty.h"

#include <unistd.h>

static char until[12];

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    setting(host, call, "until", until, sizeof until);
    return make(descriptor, host, call, config, out);
}

PREPARE {
    static int calls;
    (void)call, (void)completion;
    if (strcmp(until, "redirect") == 0) return OUTLET_OK;
    if (strcmp(until, "answer") == 0) {
        return self->host->request_answer(self->host, request, 204, NULL, 0, outlet_text(""));
    }
    if (strcmp(until, "fifth") != 0 || calls++ % 5 == 0) usleep(1500);
    while (strcmp(until, "ever") == 0) pause();
    return OUTLET_OK;
}

static outlet_status redirect(outlet_instance *self, outlet_call call, outlet_request request,
                              outlet_response response, outlet_request next,
                              outlet_completion completion) {
    (void)self, (void)call, (void)request, (void)response, (void)next, (void)completion;
    if (strcmp(until, "redirect") == 0) usleep(1500);
    return OUTLET_OK;
}

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .prepare = prepare, .redirect = redirect};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.blocks-nonblocking"),
    .version = OUTLET_TEXT("1.0.0"), .flags = OUTLET_F_NONBLOCKING, .create = create,
    .destroy = unmake, .hooks = hooks};
OUTLET_MODULE(descriptor)

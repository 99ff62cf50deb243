/* Watches and makes bodies whose end function takes 20 ms, and counts requests whose request_done was
 * called before both ends had returned ("early"); that is allowed, and the host must never do it. The
 * setting "hold" keeps the first piece of a response pending for ever. */
#include "faulty.h"
#include <stdio.h>
#include <time.h>

struct counting {
    outlet_instance base;
    const outlet_streams *streams;
    char hold[8];
    int64_t done, early;
};

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct counting *self = calloc(1, sizeof *self);
    const void *table;
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    if (host->extension(host, outlet_text(OUTLET_STREAM_1), &table) == OUTLET_OK) {
        self->streams = table;
    }
    setting(host, call, "hold", self->hold, sizeof self->hold);
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status piece(outlet_instance *instance, outlet_call call, outlet_response response,
                           uint64_t offset, outlet_view bytes, outlet_completion completion,
                           void *data) {
    (void)call, (void)response, (void)offset, (void)bytes, (void)completion, (void)data;
    return ((struct counting *)instance)->hold[0] != 0 ? OUTLET_PENDING : OUTLET_OK;
}

static outlet_status make_piece(outlet_instance *instance, outlet_call call, uint64_t offset,
                                outlet_sink sink, outlet_completion completion, void *data) {
    static const uint8_t body[4] = "body";
    const outlet_view view = {body, sizeof body};
    (void)call, (void)completion, (void)data;
    return offset == 0 ? instance->host->sink_write(instance->host, sink, view) : OUTLET_OK;
}

/* `data` is the number of streams that have not ended. */
static void ended(outlet_instance *instance, outlet_call call, outlet_status status, void *data) {
    (void)instance, (void)call, (void)status;
    static const struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    __atomic_sub_fetch((int *)data, 1, __ATOMIC_ACQ_REL);
}

static outlet_status prepare(outlet_instance *instance, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    struct counting *self = (struct counting *)instance;
    const outlet_host *host = instance->host;
    int *open = calloc(1, sizeof *open);
    (void)call, (void)completion;
    if (open == NULL || host->request_set_slot(host, request, open) != OUTLET_OK) {
        return OUTLET_E_FAILED;
    }
    *open = 2;
    if (self->streams->watch_response(host, request, piece, ended, open) != OUTLET_OK ||
        self->streams->send_body(host, request, 4, make_piece, ended, open) != OUTLET_OK) {
        return OUTLET_E_FAILED;
    }
    return OUTLET_OK;
}

static void request_done(outlet_instance *instance, outlet_call call, outlet_request request) {
    struct counting *self = (struct counting *)instance;
    void *open = NULL;
    (void)call;
    instance->host->request_slot(instance->host, request, &open);
    if (open == NULL || __atomic_load_n((int *)open, __ATOMIC_ACQUIRE) != 0) {
        __atomic_add_fetch(&self->early, 1, __ATOMIC_RELAXED);
    } else {
        free(open);
    }
    __atomic_add_fetch(&self->done, 1, __ATOMIC_RELAXED);
}

/* Reports the counts, because no function can be called after the shutdown. */
static outlet_status quiesce(outlet_instance *instance, outlet_call call) {
    struct counting *self = (struct counting *)instance;
    char text[64];
    snprintf(text, sizeof text, "%d done, %d early", (int)self->done, (int)self->early);
    instance->host->log(instance->host, call, OUTLET_LOG_INFO, outlet_text(text), NULL, 0);
    return OUTLET_OK;
}

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .prepare = prepare, .request_done = request_done};

static const outlet_hooks *hooks(outlet_instance *instance) {
    (void)instance;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .flags = OUTLET_F_CONCURRENT,
    .id = OUTLET_TEXT("faulty.streams-and-done"), .version = OUTLET_TEXT("1.0.0"),
    .create = create, .destroy = unmake, .hooks = hooks, .quiesce = quiesce};
OUTLET_MODULE(descriptor)

/* Promises answers to adapt and retry, and gives none; counts what it is told in cancel. */
#include "../faulty.h"
#include <stdatomic.h>

static atomic_int cancelled;

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    (void)self, (void)call, (void)request, (void)completion;
    return OUTLET_PENDING;
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    (void)self, (void)call, (void)request, (void)response, (void)attempt, (void)completion;
    return OUTLET_PENDING;
}

static void cancel(outlet_instance *self, outlet_completion completion) {
    /* Both say that nobody waits: the question, and the late answer. */
    if (self->host->is_cancelled(completion) == 1 &&
        self->host->adapt_done(completion, OUTLET_OK, outlet_text("")) != OUTLET_OK) {
        atomic_fetch_add(&cancelled, 1);
    }
}

static int64_t count(outlet_instance *self) {
    (void)self;
    return atomic_load(&cancelled);
}

static const outlet_export export = {sizeof(outlet_export), OUTLET_X_ANY_THREAD,
                                     OUTLET_TEXT("cancelled"), OUTLET_TEXT("l()"),
                                     OUTLET_TEXT(""), (outlet_function)count};
static const outlet_export *const exports[] = {&export};

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .adapt = adapt, .retry = retry, .cancel = cancel};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    DESCRIPTOR("faulty.never-settles"), .hooks = hooks, .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)

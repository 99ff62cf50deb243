/* Its adapt and retry return OUTLET_PENDING, and their completions are never settled. The host must
 * fail the request at the deadline, record it, and call cancel.
 *
 * Exports return the number of calls of adapt and retry ("asked") and of cancel ("cancelled"),
 * and the completion of the last cancel ("last"). */
#include "faulty.h"
#include <stdatomic.h>

static atomic_int asked;
static atomic_int cancelled;
static outlet_completion last;

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    (void)self, (void)call, (void)request, (void)completion;
    atomic_fetch_add(&asked, 1);
    return OUTLET_PENDING;
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    (void)self, (void)call, (void)request, (void)response, (void)attempt, (void)completion;
    atomic_fetch_add(&asked, 1);
    return OUTLET_PENDING;
}

static void cancel(outlet_instance *self, outlet_completion completion) {
    last = completion;
    /* The host must report that the result is not needed, and must refuse a late answer. */
    if (self->host->is_awaited(self->host, completion) == OUTLET_E_CANCELLED &&
        self->host->done(self->host, completion, OUTLET_OK, outlet_text(""),
                               outlet_text("")) != OUTLET_OK) {
        atomic_fetch_add(&cancelled, 1);
    }
}

static int64_t count(outlet_instance *self) {
    (void)self;
    return atomic_load(&cancelled);
}

static int64_t count_asked(outlet_instance *self) {
    (void)self;
    return atomic_load(&asked);
}

/* Returns the id of the completion that cancel received last. */
static int64_t last_id(outlet_instance *self) {
    (void)self;
    return (int64_t)last.id;
}

#define EXPORT(name_, function_)                                                      \
    static const outlet_export export_##name_ = {                                     \
        sizeof(outlet_export), OUTLET_X_ANY_THREAD, OUTLET_TEXT(#name_),              \
        OUTLET_TEXT("l()"),    OUTLET_TEXT(""),     (outlet_function)function_}
EXPORT(cancelled, count);
EXPORT(asked, count_asked);
EXPORT(last, last_id);

static const outlet_export *const exports[] = {&export_cancelled, &export_asked, &export_last};

static const outlet_hooks table = {
    .struct_size = sizeof(outlet_hooks), .adapt = adapt, .retry = retry, .cancel = cancel};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    DESCRIPTOR("faulty.never-settles"), .hooks = hooks, .exports = exports, .export_count = 3};
OUTLET_MODULE(descriptor)

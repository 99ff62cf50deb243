/* outlet/timer.h - the service "outlet.timer/1": timers. */
#ifndef OUTLET_TIMER_H
#define OUTLET_TIMER_H

#include "base.h"
#include "host.h"

OUTLET_BEGIN_DECLARATIONS

#define OUTLET_TIMER_1 "outlet.timer/1"

/* The maximum number of timers of one instance whose `done` has not been called, also of those
 * that were cancelled. */
#define OUTLET_MAX_TIMERS 1024

/* A running timer. */
typedef struct outlet_timer {
    uint64_t id;
} outlet_timer;

/* Called when a timer ends.
 *
 * status: OUTLET_OK if its delay has passed, OUTLET_E_CANCELLED if it was cancelled or the instance
 * is being shut down. data: the pointer passed to start. Thread: [hook]. */
typedef void (*outlet_timer_done)(outlet_instance *instance, outlet_call call,
                                  outlet_status status, void *OUTLET_OPTIONAL data);

/* The table of the service; valid as long as the table of the host. */
typedef struct outlet_timers {
    uint32_t struct_size; /* sizeof(outlet_timers) of the host */
    uint32_t reserved;    /* 0 */

    /* Starts a timer. The host calls `done` exactly once, at the latest before quiesce.
     *
     * delay_ns: the delay from now, in nanoseconds. out: receives the handle for cancel.
     * Returns OUTLET_E_STATE in create, after quiesce has begun, or if there are
     * OUTLET_MAX_TIMERS.
     * Thread: [any]. */
    outlet_status (*start)(const outlet_host *host, uint64_t delay_ns, outlet_timer_done done,
                           void *OUTLET_OPTIONAL data, outlet_timer *out);

    /* Cancels a timer: its `done` is called with OUTLET_E_CANCELLED, unless that call has begun.
     *
     * Returns OUTLET_E_STALE if the timer has ended. Thread: [any]. */
    outlet_status (*cancel)(const outlet_host *host, outlet_timer timer);
} outlet_timers;

OUTLET_END_DECLARATIONS

#endif

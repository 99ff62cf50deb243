/* outlet/timer.h - being called later: the service "outlet.timer/1". */
#ifndef OUTLET_TIMER_H
#define OUTLET_TIMER_H

#include "base.h"
#include "host.h"

OUTLET_BEGIN_DECLARATIONS

#define OUTLET_TIMER_1 "outlet.timer/1"

/* How many timers of one instance may be running. */
#define OUTLET_MAX_TIMERS 1024

/* A timer that is running. */
typedef struct outlet_timer {
    uint64_t id;
} outlet_timer;

/* A timer has come to its end.
 *
 * status: OUTLET_OK when its time has come, OUTLET_E_CANCELLED when it was cancelled, or the instance is
 * being shut down. data: what start was given. Thread: [hook]. */
typedef void (*outlet_timer_done)(outlet_instance *instance, outlet_call call,
                                  outlet_status status, void *OUTLET_OPTIONAL data);

/* The service's table; valid as long as the host's. */
typedef struct outlet_timers {
    uint32_t struct_size; /* sizeof(outlet_timers) of the host */
    uint32_t reserved;    /* 0 */

    /* Starts a timer; `done` follows exactly once, at the latest before quiesce.
     *
     * delay_ns: from now, in nanoseconds. out: receives what cancels it.
     * OUTLET_E_STATE in create and after quiesce has begun, or when OUTLET_MAX_TIMERS are running.
     * Thread: [any]. */
    outlet_status (*start)(const outlet_host *host, uint64_t delay_ns, outlet_timer_done done,
                           void *OUTLET_OPTIONAL data, outlet_timer *out);

    /* Ends a timer early: its `done` follows, with OUTLET_E_CANCELLED, unless it was under way.
     *
     * OUTLET_E_STALE when it has ended. Thread: [any]. */
    outlet_status (*cancel)(const outlet_host *host, outlet_timer timer);
} outlet_timers;

OUTLET_END_DECLARATIONS

#endif

/* outlet/events.h - what requests have come to, told after the fact. */
#ifndef OUTLET_EVENTS_H
#define OUTLET_EVENTS_H

#include "base.h"

OUTLET_BEGIN_DECLARATIONS

/* Kinds of events; ignore those that you do not know. */
#define OUTLET_EVENT_ATTEMPT 0   /* An attempt begins. a: which, from 1; text: the address. */
#define OUTLET_EVENT_RESPONSE 1  /* A head has come, of no redirect that is followed. a: the
                                    status; text: the address. */
#define OUTLET_EVENT_REDIRECT 2  /* A redirect is followed. a: the status; text: where it leads. */
#define OUTLET_EVENT_RETRY 3     /* Another attempt will be made. a: how many there were. */
#define OUTLET_EVENT_MEASURED 4  /* An attempt has ended. a: bytes sent, b: bytes received, heads
                                    included; duration_ns: how long it took. */
#define OUTLET_EVENT_FINISHED 5  /* A request has ended. a: the last status, 0 without; b: attempts;
                                    text: the code of its failure, empty without. */
#define OUTLET_EVENT_CANCELLED 6 /* A request was cancelled. */
#define OUTLET_EVENT_SUSPENDED 7 /* A request was suspended. */
#define OUTLET_EVENT_RESUMED 8   /* A request was started, or goes on. */

/* The bit of a kind in outlet_hooks.event_mask. */
#define OUTLET_EVENT_BIT(kind) (UINT64_C(1) << (kind))
#define OUTLET_EVENTS_ALL UINT64_MAX

/* One event. */
typedef struct outlet_event {
    uint32_t kind;          /* OUTLET_EVENT_* */
    uint32_t reserved;      /* 0 */
    uint64_t time_ns;       /* CLOCK_MONOTONIC */
    uint64_t duration_ns;   /* 0 where the kind has none */
    int64_t a;
    int64_t b;
    outlet_view request_id; /* the attribute "request.id" of its request */
    outlet_view text;
} outlet_event;

/* Some events in their order; borrowed until on_events returns.
 *
 * Go from one to the next by `stride`, for events may grow. */
typedef struct outlet_events {
    uint32_t struct_size; /* sizeof(outlet_events) of the host */
    uint32_t stride;      /* from one event to the next, in bytes */
    uint64_t count;
    uint64_t dropped;     /* how many were left out before these, because the plugin was too slow */
    const outlet_event *first;
} outlet_events;

/* The event at an index. */
static inline const outlet_event *outlet_event_at(const outlet_events *events, uint64_t index) {
    return (const outlet_event *)(const void *)((const uint8_t *)(const void *)events->first +
                                                index * events->stride);
}

OUTLET_END_DECLARATIONS

#endif

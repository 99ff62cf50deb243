/* outlet/events.h - notifications about requests, sent after the fact. */
#ifndef OUTLET_EVENTS_H
#define OUTLET_EVENTS_H

#include "base.h"

OUTLET_BEGIN_DECLARATIONS

/* Kinds of events; a plugin must ignore kinds that it does not know. */
#define OUTLET_EVENT_ATTEMPT 0   /* An attempt begins. a: its number, from 1; text: the URL. */
#define OUTLET_EVENT_RESPONSE 1  /* A response head has arrived, except of redirects that are
                                    followed. a: the status; text: the URL. */
#define OUTLET_EVENT_REDIRECT 2  /* A redirect is followed. a: the status; text: the new URL. */
#define OUTLET_EVENT_RETRY 3     /* Another attempt will be made. a: the number of earlier ones. */
#define OUTLET_EVENT_MEASURED 4  /* An attempt has ended. a: bytes sent, b: bytes received, heads
                                    included; duration_ns: its duration. */
#define OUTLET_EVENT_FINISHED 5  /* A request has ended; no event of it follows. a: the last status, 0
                                    if none; b: attempts; text: the code of its failure, empty if none. */
#define OUTLET_EVENT_CANCELLED 6 /* A request was cancelled. */
#define OUTLET_EVENT_SUSPENDED 7 /* A request was suspended. */
#define OUTLET_EVENT_RESUMED 8   /* A request was started or resumed. */

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

/* A batch of events in order; borrowed until on_events returns.
 *
 * Use `stride` to get from one event to the next, because outlet_event may grow. */
typedef struct outlet_events {
    uint32_t struct_size; /* sizeof(outlet_events) of the host */
    uint32_t stride;      /* the distance from one event to the next, in bytes */
    uint64_t count;
    uint64_t dropped;     /* events lost before these, because the plugin was too slow */
    const outlet_event *first;
} outlet_events;

/* Returns the event at an index. */
static inline const outlet_event *outlet_event_at(const outlet_events *events, uint64_t index) {
    const uint8_t *first = OUTLET_POINTER_CAST(const uint8_t *, events->first);
    const void *event = first + index * events->stride;
    return OUTLET_STATIC_CAST(const outlet_event *, event);
}

OUTLET_END_DECLARATIONS

#endif

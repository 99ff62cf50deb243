/* outlet/base.h - the words that every other header uses.
 *
 * Reading rules, for all of outlet/:
 *
 *  [hook]     The host calls the plugin on one of its worker threads. Never two at once on one
 *             instance, unless the descriptor says OUTLET_F_CONCURRENT. May block, unless the
 *             descriptor says OUTLET_F_NONBLOCKING.
 *  [control]  The host calls the plugin while no hook of that instance runs. May block.
 *  [in-call]  The plugin calls the host from inside the hook that got the handle. After adapt or
 *             retry answered OUTLET_PENDING: from any one thread at a time, until it settles.
 *  [any]      The plugin calls the host from any thread, its own threads included.
 *
 *  Required   The host refuses a plugin that leaves this null.
 *  Optional   Null means: not interested. The host then makes no call, at no cost.
 *
 *  Ownership  Nobody ever frees the other side's memory. What the host is handed it copies
 *             before it returns. What it hands out is borrowed: until the hook returns, or,
 *             after OUTLET_PENDING, until the plugin settles the completion. Copy to keep.
 *  Text       UTF-8 with a length, not NUL-terminated.
 *  Unwinding  Nothing may unwind across this boundary: no C++ throw, no panic, no longjmp.
 *  Growth     Every table begins with its size and grows at its end only. A field exists if the
 *             table is long enough (OUTLET_HAS) and, where it is a pointer, not null. */
#ifndef OUTLET_BASE_H
#define OUTLET_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "version.h"

/* ---- compilers ---------------------------------------------------------------------------- */

#if defined(__clang__)
/* The extension warning is silenced here only, so that authors may build with -pedantic. */
#define OUTLET_BEGIN_NULLABILITY                                    \
    _Pragma("clang diagnostic push")                                \
    _Pragma("clang diagnostic ignored \"-Wnullability-extension\"") \
    _Pragma("clang assume_nonnull begin")
#define OUTLET_END_NULLABILITY              \
    _Pragma("clang assume_nonnull end")     \
    _Pragma("clang diagnostic pop")
#define OUTLET_OPTIONAL _Nullable
#define OUTLET_NONNULL _Nonnull /* inner pointers, which assume_nonnull leaves out */
/* Not _Nonnull: the host must be able to see that a plugin left it out. */
#define OUTLET_REQUIRED _Null_unspecified
#else
#define OUTLET_BEGIN_NULLABILITY
#define OUTLET_END_NULLABILITY
#define OUTLET_OPTIONAL
#define OUTLET_NONNULL
#define OUTLET_REQUIRED
#endif

#if defined(__cplusplus)
#define OUTLET_BEGIN_DECLARATIONS extern "C" { OUTLET_BEGIN_NULLABILITY
#define OUTLET_END_DECLARATIONS OUTLET_END_NULLABILITY }
#else
#define OUTLET_BEGIN_DECLARATIONS OUTLET_BEGIN_NULLABILITY
#define OUTLET_END_DECLARATIONS OUTLET_END_NULLABILITY
#endif

/* The entry stays visible under -fvisibility=hidden. */
#define OUTLET_EXPORT __attribute__((visibility("default")))

/* Whether the table at `table` (of `type`) is long enough to hold `field`. */
#define OUTLET_HAS(table, type, field) \
    ((table)->struct_size >= offsetof(type, field) + sizeof((table)->field))

/* A view of a string literal, for initialisers. */
#define OUTLET_TEXT(literal) { (const uint8_t *)("" literal), sizeof(literal) - 1 }

OUTLET_BEGIN_DECLARATIONS

/* ---- statuses ----------------------------------------------------------------------------- */

/* A plain integer, not an enumeration: newer minors may add values. One that a side does not know is
 * a failure, as every negative one is. */
typedef int32_t outlet_status;

#define OUTLET_OK 0              /* Done. */
#define OUTLET_PENDING 1         /* Hooks with a completion, and quiesce: the answer follows. */
#define OUTLET_E_FAILED (-1)     /* Failed; the reason was given to outlet_host.fail. */
#define OUTLET_E_STALE (-2)      /* The handle's owner is gone, or the completion was used. */
#define OUTLET_E_DENIED (-3)     /* Not granted to this plugin; from a hook: a refusal, which holds even
                                    where the user lets requests pass that the plugin fails. */
#define OUTLET_E_ARGUMENT (-4)   /* An argument is wrong. */
#define OUTLET_E_THREAD (-5)     /* Called on a thread that the contract forbids. */
#define OUTLET_E_STATE (-6)      /* Not possible now, as changing a request in will_send. */
#define OUTLET_E_TIMEOUT (-7)    /* The deadline passed. */
#define OUTLET_E_CANCELLED (-8)  /* Nobody waits for the answer any more. */
#define OUTLET_E_UNSUPPORTED (-9) /* This host cannot do that. */
#define OUTLET_E_NOT_FOUND (-10) /* There is no such header, attribute or setting. */

/* ---- values ------------------------------------------------------------------------------- */

/* Borrowed bytes. `ptr` may be null when `len` is 0. */
typedef struct outlet_view {
    const uint8_t *OUTLET_OPTIONAL ptr;
    uint64_t len; /* in bytes */
} outlet_view;

/* One header field. */
typedef struct outlet_field {
    outlet_view name;
    outlet_view value;
} outlet_field;

/* Handles are ids (a slot and its generation), never addresses: a stale one is answered with
 * OUTLET_E_STALE, and the same id means the same from another process. 0 is never a handle. */

/* One call of a hook or an export; dies when that returns. */
typedef struct outlet_call {
    uint64_t id;
} outlet_call;

/* A request, as seen from one hook; changeable as that hook says. */
typedef struct outlet_request {
    uint64_t id;
} outlet_request;

/* The outcome of a request, as seen from one hook; replaceable in process only. */
typedef struct outlet_response {
    uint64_t id;
} outlet_response;

/* The right to settle one call of a hook, once. */
typedef struct outlet_completion {
    uint64_t id;
} outlet_completion;

/* Bytes on their way to the host. */
typedef struct outlet_sink {
    uint64_t id;
} outlet_sink;

/* The plugin's own type. The host never looks inside. */
typedef struct outlet_instance outlet_instance;

/* A view of a NUL-terminated string, borrowed from it. */
static inline outlet_view outlet_text(const char *text) {
    outlet_view view;
    view.ptr = (const uint8_t *)text;
    view.len = (uint64_t)strlen(text);
    return view;
}

OUTLET_END_DECLARATIONS

#endif

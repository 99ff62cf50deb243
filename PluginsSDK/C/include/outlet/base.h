/* outlet/base.h - terms, statuses and types that all other headers use.
 *
 * Terms, for all headers of outlet/:
 *
 *  [hook]     The host calls the plugin on one of its worker threads. May block. If the descriptor
 *             says OUTLET_F_NONBLOCKING, the thread may also be the transport's, which all
 *             transfers wait for, or one of the program's own, and the plugin may not block. Never
 *             two at once on one instance, unless the descriptor says OUTLET_F_CONCURRENT.
 *  [control]  The host calls the plugin while no hook of that instance runs. May block.
 *  [in-call]  The plugin calls the host from inside the hook or other function that received the
 *             handle, on the thread of that call; on another one the result is OUTLET_E_THREAD. A
 *             hook with a completion may use any thread, one at a time, until the plugin settles
 *             the completion.
 *  [any]      The plugin calls the host from any thread, its own threads included.
 *
 *  No function of the host may be called in a signal handler: the thread may hold a lock of the
 *  host. The functions of the host use up to 64 KiB of the stack of their caller.
 *
 *  Required   Must not be null; the host refuses a plugin in which it is.
 *  Optional   May be null; the host then makes no call.
 *
 *  Ownership  Neither side frees the other side's memory. The host copies what the plugin passes to
 *             it before the call returns. What the host passes to the plugin is borrowed: it is
 *             valid until the hook returns or, after OUTLET_PENDING, until the plugin settles the
 *             completion. Copy what must live longer.
 *  Text       UTF-8 with a length, not NUL-terminated.
 *  Unwinding  Nothing may unwind across this boundary: no C++ exception, no panic, no longjmp.
 *  Growth     Every table begins with its size and grows only at its end. A field exists if the
 *             table is long enough (OUTLET_HAS) and, if it is a pointer, not null. */
#ifndef OUTLET_BASE_H
#define OUTLET_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "version.h"

/* ---- compilers ---------------------------------------------------------------------------- */

#if defined(__clang__)
/* Silences the extension warning for these declarations, so that authors can use -pedantic. */
#define OUTLET_BEGIN_NULLABILITY                                    \
    _Pragma("clang diagnostic push")                                \
    _Pragma("clang diagnostic ignored \"-Wnullability-extension\"") \
    _Pragma("clang assume_nonnull begin")
#define OUTLET_END_NULLABILITY              \
    _Pragma("clang assume_nonnull end")     \
    _Pragma("clang diagnostic pop")
#define OUTLET_OPTIONAL _Nullable
#define OUTLET_NONNULL _Nonnull /* inner pointers, which assume_nonnull leaves out */
/* Not _Nonnull: the host must be able to detect that a plugin leaves it null. */
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

/* Whether the table at `table` (of `type`) is long enough to contain `field`. */
#define OUTLET_HAS(table, type, field) \
    ((table)->struct_size >= offsetof(type, field) + sizeof((table)->field))

/* Casts without a warning of -Wold-style-cast in C++. */
#if defined(__cplusplus)
#define OUTLET_POINTER_CAST(type, pointer) reinterpret_cast<type>(pointer)
#define OUTLET_STATIC_CAST(type, value) static_cast<type>(value)
#else
#define OUTLET_POINTER_CAST(type, pointer) ((type)(pointer))
#define OUTLET_STATIC_CAST(type, value) ((type)(value))
#endif

/* A view of a string literal, for initialisers. */
#define OUTLET_TEXT(literal) \
    { OUTLET_POINTER_CAST(const uint8_t *, "" literal), sizeof(literal) - 1 }

OUTLET_BEGIN_DECLARATIONS

/* ---- statuses ----------------------------------------------------------------------------- */

/* The result of a call. An integer, not an enumeration, because later minor versions may add
 * values. An unknown value is a failure, as is every negative one. */
typedef int32_t outlet_status;

#define OUTLET_OK 0              /* Success. */
#define OUTLET_PENDING 1         /* From hooks with a completion and quiesce: the result follows. */
#define OUTLET_E_FAILED (-1)     /* Failed; the reason was passed to outlet_host.fail. */
#define OUTLET_E_STALE (-2)      /* The handle is no longer valid, or the completion is settled. */
#define OUTLET_E_DENIED (-3)     /* Not granted to this plugin. From a hook: a refusal, which fails
                                    the request even if the user lets requests pass after other
                                    failures of the plugin. */
#define OUTLET_E_ARGUMENT (-4)   /* An argument is wrong. */
#define OUTLET_E_THREAD (-5)     /* Called on a thread that the contract forbids. */
#define OUTLET_E_STATE (-6)      /* Not possible now, such as changing a request in will_send. */
#define OUTLET_E_TIMEOUT (-7)    /* The deadline has passed. */
#define OUTLET_E_CANCELLED (-8)  /* The request was cancelled; the result is not needed any more. */
#define OUTLET_E_UNSUPPORTED (-9) /* This host does not support it. */
#define OUTLET_E_NOT_FOUND (-10) /* There is no such header, attribute or setting. */

/* ---- values ------------------------------------------------------------------------------- */

/* Borrowed bytes. `ptr` may be null when `len` is 0. */
typedef struct outlet_view {
    const uint8_t *OUTLET_OPTIONAL ptr;
    uint64_t len; /* in bytes */
} outlet_view;

/* One header field.
 *
 * The value is bytes, not text: HTAB, SP, 0x21 to 0x7E and 0x80 to 0xFF (RFC 9110 5.5), without an
 * encoding. The host passes on what it receives and what plugins set without changing a byte, but
 * for line breaks, CR and NUL of received values: it replaces these by a space. */
typedef struct outlet_field {
    outlet_view name;
    outlet_view value;
} outlet_field;

/* Handles are ids (a slot and its generation), not addresses, so they keep their meaning in another
 * process. The host returns OUTLET_E_STALE for one that is no longer valid. 0 is never a handle. */

/* A call of a hook or an export; valid until that returns. */
typedef struct outlet_call {
    uint64_t id;
} outlet_call;

/* A request during one hook; which changes are possible depends on the hook. */
typedef struct outlet_request {
    uint64_t id;
} outlet_request;

/* The outcome of a request during one hook; it can be replaced only in process. */
typedef struct outlet_response {
    uint64_t id;
} outlet_response;

/* Settles one call of a hook, exactly once. */
typedef struct outlet_completion {
    uint64_t id;
} outlet_completion;

/* Receives bytes from the plugin. */
typedef struct outlet_sink {
    uint64_t id;
} outlet_sink;

/* Defined by the plugin; opaque to the host. */
typedef struct outlet_instance outlet_instance;

/* Returns a view of a NUL-terminated string, valid as long as the string. */
static inline outlet_view outlet_text(const char *text) {
    outlet_view view;
    view.ptr = OUTLET_POINTER_CAST(const uint8_t *, text);
    view.len = strlen(text);
    return view;
}

OUTLET_END_DECLARATIONS

#endif

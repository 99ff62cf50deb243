/* outlet/export.h - functions that a plugin offers to be called by name.
 *
 * The host learns the signature at run time, from a text, and makes the call through libffi:
 *
 *   result '(' arguments ')'
 *
 *   v void     b uint8_t as a truth value     i int32_t    l int64_t     d double
 *   e outlet_status, as a result only          I uint32_t   L uint64_t    s outlet_view
 *   c outlet_call and o outlet_sink, as arguments only: supplied by the host, not by the caller
 *
 * The C function takes the instance first, then the arguments in order: "e(cso)" is
 *
 *   outlet_status f(outlet_instance *, outlet_call, outlet_view, outlet_sink)
 *
 * A view as a result must stay valid for good, as static text does; use an 'o' for made text.
 * With an 'o' the result must be 'e', and what was written is what the caller gets, as text.
 * At most 8 arguments, at most one 'c' and one 'o'. Nothing checks the text against the code:
 * a wrong one is undefined behaviour. */
#ifndef OUTLET_EXPORT_H
#define OUTLET_EXPORT_H

#include "base.h"

OUTLET_BEGIN_DECLARATIONS

/* May be called beside hooks and other exports of the instance, from any thread. */
#define OUTLET_X_ANY_THREAD (1u << 0)
/* Gives the same result for the same arguments and changes nothing. */
#define OUTLET_X_PURE (1u << 1)

/* Any function; the signature tells which. */
typedef void (*outlet_function)(void);

typedef struct outlet_export {
    uint32_t struct_size; /* sizeof(outlet_export) the plugin was compiled with */
    uint32_t flags;       /* OUTLET_X_* */
    outlet_view name;     /* letters, digits, '-' and '_'; unique within the plugin */
    outlet_view signature;
    outlet_view summary;  /* one line for people; may be empty */
    outlet_function OUTLET_REQUIRED function; /* Required. Thread: [hook], if not ANY_THREAD. */
} outlet_export;

OUTLET_END_DECLARATIONS

#endif

/* outlet/export.h - functions that a plugin offers to be called by name.
 *
 * The host learns the signature at run time, from a text, and makes the call through libffi:
 *
 *   result '(' arguments ')'
 *
 *   v void, as a result only        i int32_t    l int64_t     d double
 *   e outlet_status, likewise       I uint32_t   L uint64_t    b uint8_t as a truth value
 *
 * and as arguments only:
 *
 *   s outlet_view of text           y outlet_view of bytes
 *   r outlet_request, to be read    f{...} a function of the caller's, with its own signature
 *   c outlet_call, o outlet_sink for text, O outlet_sink for bytes: supplied by the host
 *
 * The C function takes the instance first, then the arguments in order: "e(cso)" is
 *
 *   outlet_status f(outlet_instance *, outlet_call, outlet_view, outlet_sink)
 *
 * With an 'o' or 'O' the result must be 'e', and what was written is what the caller gets; what is
 * written to an 'o' must be UTF-8. What the caller passes as views is borrowed until the function returns.
 *
 * A function of the caller's takes and gives numbers and truth values, and takes 's' and 'y': "v(f{b(s)})" is
 *
 *   void f(outlet_instance *, uint8_t (*)(outlet_view))
 *
 * It may be called until the exported function returns, on any thread, one call at a time.
 *
 * At most 8 arguments, at most one 'c' and one 'o' or 'O'. Nothing checks the text against the code:
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

/* An exported function to be filled in, as outlet_empty_descriptor. */
static inline outlet_export outlet_empty_export(void) {
    outlet_export function;
    memset(&function, 0, sizeof function);
    function.struct_size = (uint32_t)sizeof function;
    return function;
}

OUTLET_END_DECLARATIONS

#endif

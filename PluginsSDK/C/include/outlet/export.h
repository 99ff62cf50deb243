/* outlet/export.h - functions of a plugin that the program can call by name.
 *
 * The host reads the signature from a text at run time, and calls the function through libffi:
 *
 *   result '(' arguments ')'
 *
 *   v void, only as a result            i int32_t    l int64_t     d double
 *   e outlet_status, only as a result   I uint32_t   L uint64_t    b uint8_t as a Boolean
 *
 * and only as arguments:
 *
 *   s outlet_view of text           y outlet_view of bytes
 *   r outlet_request, read-only     f{...} a function of the caller, with its signature
 *   c outlet_call, o outlet_sink for text, O outlet_sink for bytes: supplied by the host
 *
 * The C function takes the instance first, then the arguments in order: "e(cso)" is
 *
 *   outlet_status f(outlet_instance *, outlet_call, outlet_view, outlet_sink)
 *
 * With an 'o' or 'O' the result must be 'e', and the caller receives the bytes written to the sink;
 * those of an 'o' must be UTF-8. Views from the caller are borrowed until the function returns.
 *
 * A function of the caller may use numbers and Booleans, and 's' and 'y' as arguments: "v(f{b(s)})"
 * is
 *
 *   void f(outlet_instance *, uint8_t (*)(outlet_view))
 *
 * It may be called until the exported function returns, on any thread, one call at a time.
 *
 * There may be at most 8 arguments, at most one 'c' and at most one 'o' or 'O'. Nothing compares
 * the signature with the code: with a wrong one the behaviour is undefined. */
#ifndef OUTLET_EXPORT_H
#define OUTLET_EXPORT_H

#include "base.h"

OUTLET_BEGIN_DECLARATIONS

/* May be called on any thread, also while hooks and other exports of the instance run. */
#define OUTLET_X_ANY_THREAD (1u << 0)
/* Returns the same result for the same arguments and has no side effects. */
#define OUTLET_X_PURE (1u << 1)

/* A pointer to any function; outlet_export.signature defines its type. */
typedef void (*outlet_function)(void);

typedef struct outlet_export {
    uint32_t struct_size; /* sizeof(outlet_export) the plugin was compiled with */
    uint32_t flags;       /* OUTLET_X_* */
    outlet_view name;     /* letters, digits, '-' and '_'; unique within the plugin */
    outlet_view signature;
    outlet_view summary;  /* one line that describes the function; may be empty */
    outlet_function OUTLET_REQUIRED function; /* Required. Thread: [hook], or any: ANY_THREAD. */
} outlet_export;

/* Returns an export in which only struct_size is set; see outlet_empty_descriptor. */
static inline outlet_export outlet_empty_export(void) {
    outlet_export function;
    memset(&function, 0, sizeof function);
    function.struct_size = sizeof function;
    return function;
}

OUTLET_END_DECLARATIONS

#endif

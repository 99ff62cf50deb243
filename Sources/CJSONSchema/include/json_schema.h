/* Validates JSON values with JSON Schema, drafts 4, 6 and 7; schemas are parsed by valijson. */
#ifndef CJSONSCHEMA_JSON_SCHEMA_H
#define CJSONSCHEMA_JSON_SCHEMA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* UTF-8 text without a final NUL. */
typedef struct cjsonschema_text {
    const char *_Nonnull bytes;
    size_t count;
} cjsonschema_text;

/* A rule that a value violates; all texts are valid until the report function returns. */
typedef struct cjsonschema_violation {
    cjsonschema_text path; /* JSON pointer to the place in the value, or of BAD_SCHEMA in the schema; empty
                            * for the whole, or where it is not known */
    cjsonschema_text fact; /* what is wrong; may name keys, but no values; empty with a key */
    cjsonschema_text key;  /* an object's key that the schema does not allow; or empty */
    const cjsonschema_text *_Nullable names; /* with a key, keys of the schema that the object lacks,
                                            * one of which may be meant; at most 200 */
    size_t name_count;
} cjsonschema_violation;

typedef void (*cjsonschema_report)(
    void *_Nullable context, const cjsonschema_violation *_Nonnull violation);

typedef enum cjsonschema_outcome {
    CJSONSCHEMA_VALID = 0,
    CJSONSCHEMA_INVALID,       /* reports each violation, at most a hundred */
    CJSONSCHEMA_BAD_SCHEMA,    /* reports one violation: what is wrong with the schema */
    CJSONSCHEMA_BAD_VALUE,     /* reports one violation: why the value cannot be parsed */
    CJSONSCHEMA_NO_RESOURCES   /* no memory, or no thread with a large enough stack */
} cjsonschema_outcome;

/* Validates a value with a schema; both are JSON texts. A null value only checks the schema.
 *
 * Nothing is fetched: references can only point into the schema itself. Work, recursion and memory are
 * bounded for any schema. Patterns are RE2's, which need time linear in the text.
 *
 * Thread: any; blocks while it works on a thread of its own. `report` is called on the calling thread. */
cjsonschema_outcome cjsonschema_check(
    cjsonschema_text schema, const cjsonschema_text *_Nullable value,
    cjsonschema_report _Nonnull report, void *_Nullable context);

#ifdef __cplusplus
}
#endif

#endif

/* JSON Schema, drafts 4, 6 and 7, checked by valijson's model of a schema. */
#ifndef CJSONSCHEMA_JSON_SCHEMA_H
#define CJSONSCHEMA_JSON_SCHEMA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* UTF-8, without a NUL at its end. */
typedef struct cjsonschema_text {
    const char *_Nonnull bytes;
    size_t count;
} cjsonschema_text;

/* What a value breaks; all texts live until the report returns. */
typedef struct cjsonschema_violation {
    cjsonschema_text path; /* a JSON pointer to where in the value; empty for all of it */
    cjsonschema_text fact; /* without anything of the value; empty when there is a key */
    cjsonschema_text key;  /* of an object, and not in the schema; else empty */
    const cjsonschema_text *_Nullable names; /* what the schema has in its place */
    size_t name_count;
} cjsonschema_violation;

typedef void (*cjsonschema_report)(
    void *_Nullable context, const cjsonschema_violation *_Nonnull violation);

typedef enum cjsonschema_outcome {
    CJSONSCHEMA_VALID = 0,
    CJSONSCHEMA_INVALID,       /* reported: each violation, a hundred at most */
    CJSONSCHEMA_BAD_SCHEMA,    /* reported: the one reason */
    CJSONSCHEMA_BAD_VALUE,     /* reported: why the value cannot be read */
    CJSONSCHEMA_NO_RESOURCES   /* no memory, or no thread with a stack that is large enough */
} cjsonschema_outcome;

/* Checks a value against a schema; both are texts of JSON. A null value checks the schema alone.
 *
 * Nothing is fetched: references lead into the schema itself. Work, recursion and memory are bounded
 * whatever the schema holds; patterns are RE2's, which take time linear in the text.
 *
 * Thread: any; waits for one of its own. The report is called on the caller's. */
cjsonschema_outcome cjsonschema_check(
    cjsonschema_text schema, const cjsonschema_text *_Nullable value,
    cjsonschema_report _Nonnull report, void *_Nullable context);

#ifdef __cplusplus
}
#endif

#endif

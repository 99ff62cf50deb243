/* outlet/host.h - what the host offers to a plugin.
 *
 * One table of functions, handed to create and valid until destroy returned. Every function of
 * this minor is there; later ones need OUTLET_HAS. Every function may be called with any handle:
 * a stale or foreign one is answered, never followed. */
#ifndef OUTLET_HOST_H
#define OUTLET_HOST_H

#include "base.h"

OUTLET_BEGIN_DECLARATIONS

/* Levels of outlet_host.log. */
#define OUTLET_LOG_DEBUG 0
#define OUTLET_LOG_INFO 1
#define OUTLET_LOG_WARNING 2
#define OUTLET_LOG_ERROR 3

/* Verdicts of outlet_host.retry_done. */
#define OUTLET_RETRY_NO 0        /* This plugin would not retry; the next one is asked. */
#define OUTLET_RETRY_NOW 1       /* Send again at once. */
#define OUTLET_RETRY_AFTER 2     /* Send again after delay_ns. */
#define OUTLET_RETRY_FAIL_WITH 3 /* Do not retry, and fail with the error given here. */

typedef struct outlet_host {
    uint32_t struct_size; /* sizeof(outlet_host) of the host */
    uint32_t abi_minor;   /* OUTLET_ABI_MINOR of the host */
    outlet_view name;     /* "outlet"; valid as long as the table */
    outlet_view version;  /* the host's own version; valid as long as the table */

    /* A further service by name and revision, such as "outlet.http/1".
     *
     * Returns its table, valid as long as this one; null when it is not offered or not granted.
     * Thread: [any]. */
    const void *OUTLET_OPTIONAL (*OUTLET_NONNULL extension)(outlet_owner owner, outlet_view id);

    /* Writes a line to the host's log; `level` is one of OUTLET_LOG_*.
     *
     * No secrets: the host does not know which they are. Thread: [any]. */
    void (*log)(outlet_owner owner, uint32_t level, outlet_view message);

    /* Gives the reason of the failure that this call is about to return.
     *
     * Copied; the last one counts. Thread: [in-call]. */
    void (*fail)(outlet_call call, outlet_view message);

    /* When the host stops waiting for this call, in nanoseconds of CLOCK_MONOTONIC; 0 is never.
     *
     * Thread: [in-call]. */
    uint64_t (*deadline_ns)(outlet_call call);

    /* One setting of the JSON configuration, in create only: top-level keys, "a.b" descends.
     *
     * A string is given unescaped, anything else as its JSON text. Valid until create returns.
     * Returns OUTLET_E_NOT_FOUND when it is not set. Thread: [in-call]. */
    outlet_status (*config_value)(outlet_call call, outlet_view key, outlet_view *out);

    /* ---- requests: the readers work in every hook, the writers in prepare and adapt ----------
     *
     * A view from a reader is also dead after the next change of the same part.
     * Thread: [in-call], all of them. */

    /* The method, such as "GET". */
    outlet_status (*request_method)(outlet_request request, outlet_view *out);
    /* The address. */
    outlet_status (*request_url)(outlet_request request, outlet_view *out);
    /* The nth value (from 0) of a header, its name's case ignored; OUTLET_E_NOT_FOUND. */
    outlet_status (*request_header)(outlet_request request, outlet_view name, uint32_t nth,
                                    outlet_view *out);
    /* Fills at most `capacity` fields in order; *count is how many there are in all. */
    outlet_status (*request_headers)(outlet_request request, outlet_field *OUTLET_OPTIONAL out,
                                     uint64_t capacity, uint64_t *count);
    /* The body; empty without one; OUTLET_E_STATE when it is read from a file or a stream. */
    outlet_status (*request_body)(outlet_request request, outlet_view *out);
    /* A fact about the request: "target.name", "target.base_url", "target.path",
     * "target.authorization", "request.id", "request.attempt" (from 1), "request.redirects" (from 1,
     * for the hops of a redirect), or what a target or another plugin put there;
     * OUTLET_E_NOT_FOUND. */
    outlet_status (*request_attr)(outlet_request request, outlet_view key, outlet_view *out);
    /* Sets the method; OUTLET_E_ARGUMENT when it is not a token (RFC 9110 5.6.2). */
    outlet_status (*request_set_method)(outlet_request request, outlet_view method);
    /* Sets the address; OUTLET_E_ARGUMENT when it is not an absolute http or https URL. */
    outlet_status (*request_set_url)(outlet_request request, outlet_view url);
    /* Sets a header, in place of all of that name; OUTLET_E_ARGUMENT when HTTP cannot carry it. */
    outlet_status (*request_set_header)(outlet_request request, outlet_view name,
                                        outlet_view value);
    /* Adds a header behind the others; OUTLET_E_ARGUMENT when HTTP cannot carry it. */
    outlet_status (*request_add_header)(outlet_request request, outlet_view name,
                                        outlet_view value);
    /* Removes all headers of a name; OUTLET_OK also when there were none. */
    outlet_status (*request_remove_header)(outlet_request request, outlet_view name);
    /* Sets the body; an empty view leaves a body of no bytes. */
    outlet_status (*request_set_body)(outlet_request request, outlet_view body);
    /* Leaves a fact for later hooks and other plugins, never sent; OUTLET_E_DENIED for keys that
     * begin with "target.", "request." or "outlet.". */
    outlet_status (*request_set_attr)(outlet_request request, outlet_view key, outlet_view value);
    /* Answers the request in place of the network. Later hooks run as for any response.
     * OUTLET_E_ARGUMENT for a status outside 200...599 or a header HTTP cannot carry,
     * OUTLET_E_UNSUPPORTED where the host would not play the answer. */
    outlet_status (*request_answer)(outlet_request request, int32_t status,
                                    const outlet_field *OUTLET_OPTIONAL fields, uint64_t count,
                                    outlet_view body);

    /* ---- responses: readers in did_receive, process and retry, writers in process ------------
     *
     * Thread: [in-call], all of them. */

    /* The status code; 0 when no response arrived. */
    int32_t (*response_status)(outlet_response response);
    /* Why the request failed; OUTLET_E_NOT_FOUND when it did not. `code` is a stable word such as
     * "timedOut". */
    outlet_status (*response_error)(outlet_response response, outlet_view *code,
                                    outlet_view *message);
    /* The nth value (from 0) of a header, its name's case ignored; OUTLET_E_NOT_FOUND. */
    outlet_status (*response_header)(outlet_response response, outlet_view name, uint32_t nth,
                                     outlet_view *out);
    /* Fills at most `capacity` fields in order; *count is how many there are in all. */
    outlet_status (*response_headers)(outlet_response response, outlet_field *OUTLET_OPTIONAL out,
                                      uint64_t capacity, uint64_t *count);
    /* The body in memory; empty without one. */
    outlet_status (*response_body)(outlet_response response, outlet_view *out);
    /* Puts another response in place of this outcome, also of a failed one. */
    outlet_status (*response_replace)(outlet_response response, int32_t status,
                                      const outlet_field *OUTLET_OPTIONAL fields, uint64_t count,
                                      outlet_view body);
    /* Makes the outcome a failure of this plugin's, with a message. */
    outlet_status (*response_replace_error)(outlet_response response, outlet_view message);

    /* ---- the rest ---------------------------------------------------------------------------- */

    /* Appends bytes to a sink; OUTLET_E_ARGUMENT above 64 MiB in all. Thread: [in-call]. */
    outlet_status (*sink_write)(outlet_sink sink, outlet_view bytes);

    /* Whether nobody waits for this completion any more: 1 or 0. Thread: [any]. */
    int32_t (*is_cancelled)(outlet_completion completion);

    /* Settles an adapt: OUTLET_OK sends the request as it is now, anything else fails it with
     * `error`. Allowed inside the hook already; a hook that fails after that has failed.
     *
     * Returns OUTLET_E_STALE, and the host takes note, when it was settled before.
     * Thread: [any]. */
    outlet_status (*adapt_done)(outlet_completion completion, outlet_status result,
                                outlet_view error);

    /* Settles a retry; `verdict` is one of OUTLET_RETRY_*, delay_ns counts for
     * OUTLET_RETRY_AFTER only, `error` for OUTLET_RETRY_FAIL_WITH only. A verdict that the host does
     * not know is a failure.
     *
     * Returns as adapt_done does. Thread: [any]. */
    outlet_status (*retry_done)(outlet_completion completion, int32_t verdict, uint64_t delay_ns,
                                outlet_view error);

    /* Answers a quiesce that returned OUTLET_PENDING. Thread: [any]. */
    outlet_status (*quiesced)(outlet_owner owner);
} outlet_host;

OUTLET_END_DECLARATIONS

#endif

/* outlet/host.h - what the host offers to a plugin.
 *
 * One table of functions for each instance, handed to create and valid until destroy returned. It is
 * the first argument of each of its functions: the host knows by it who calls, so pass the table that
 * create was given, not a copy. Every function of this minor is there; later ones need OUTLET_HAS.
 * Each may be called with any handle: a stale one, or one that another instance was given, is
 * answered with OUTLET_E_STALE, never followed. Results go to `out`, which is written on OUTLET_OK
 * only. A length above its limit is refused with OUTLET_E_ARGUMENT, and nothing of it is read. */
#ifndef OUTLET_HOST_H
#define OUTLET_HOST_H

#include "base.h"

OUTLET_BEGIN_DECLARATIONS

/* Levels of outlet_host.log. */
#define OUTLET_LOG_DEBUG 0
#define OUTLET_LOG_INFO 1
#define OUTLET_LOG_WARNING 2
#define OUTLET_LOG_ERROR 3

/* Limits, in bytes where they are lengths. */
#define OUTLET_MAX_MESSAGE 4096       /* a text for people, a log line, a fact of one */
#define OUTLET_MAX_LOG_FIELDS 32      /* the facts of a log line */
#define OUTLET_MAX_CODE 64            /* a failure's code */
#define OUTLET_MAX_NAME 1024          /* a name: of a header, an attribute, a setting, a service */
#define OUTLET_MAX_VALUE 65536        /* a method, an address, the value of a header or attribute */
#define OUTLET_MAX_FIELDS 2000        /* the header fields of one message */
#define OUTLET_MAX_BODY 1073741824    /* a body that a plugin sets */
#define OUTLET_MAX_RETRY_DELAY 86400000000000 /* a day, in nanoseconds */

/* Verdicts of outlet_host.retry_done. */
#define OUTLET_RETRY_NO 0        /* This plugin would not retry; the next one is asked. */
#define OUTLET_RETRY_NOW 1       /* Send again at once. */
#define OUTLET_RETRY_AFTER 2     /* Send again after delay_ns, OUTLET_MAX_RETRY_DELAY at most. */
#define OUTLET_RETRY_FAIL_WITH 3 /* Do not retry, and fail with the error given here. */

/* Verdicts of outlet_host.redirect_done. */
#define OUTLET_REDIRECT_FOLLOW 0 /* Follow it, with the changes made; the next plugin is asked. */
#define OUTLET_REDIRECT_TAKE 1   /* Do not follow: the redirect is the response. */
#define OUTLET_REDIRECT_FAIL 2   /* Do not follow: fail with the error given here. */

typedef struct outlet_host outlet_host;

/* A request at once, for request_snapshot: what accessors would say one by one.
 *
 * The views, and the array, are borrowed as theirs are. */
typedef struct outlet_request_snapshot {
    uint32_t struct_size; /* set by the plugin: sizeof(outlet_request_snapshot) */
    uint32_t reserved;    /* 0 */
    outlet_view method;
    outlet_view url;
    const outlet_field *OUTLET_OPTIONAL fields;
    uint64_t field_count;
    uint64_t body_length; /* in bytes; OUTLET_UNKNOWN_LENGTH where it is not known */
} outlet_request_snapshot;

/* A response at once, for response_snapshot. */
typedef struct outlet_response_snapshot {
    uint32_t struct_size;  /* set by the plugin: sizeof(outlet_response_snapshot) */
    int32_t status;        /* 0 when no response arrived */
    outlet_view error_code; /* empty when the request did not fail */
    outlet_view error_message;
    const outlet_field *OUTLET_OPTIONAL fields;
    uint64_t field_count;
    uint64_t body_length; /* of what response_body_read reads, in bytes */
} outlet_response_snapshot;

#define OUTLET_UNKNOWN_LENGTH UINT64_MAX

struct outlet_host {
    uint32_t struct_size; /* sizeof(outlet_host) of the host */
    uint32_t abi_minor;   /* OUTLET_ABI_MINOR of the host */
    outlet_view name;     /* "outlet"; valid as long as the table */
    outlet_view version;  /* the host's own version; valid as long as the table */

    /* A further service by name and revision, such as "outlet.http/1".
     *
     * *out receives its table, valid as long as this one. OUTLET_E_UNSUPPORTED when this host does not
     * offer it, OUTLET_E_DENIED when it is not granted to this plugin. Thread: [any]. */
    outlet_status (*extension)(const outlet_host *host, outlet_view id,
                               const void *OUTLET_OPTIONAL *OUTLET_NONNULL out);

    /* Writes a line to the host's log; `level` is one of OUTLET_LOG_*.
     *
     * call: what it is about; {0} outside of any call. fields: facts by name, such as "attempt" and
     * "2"; at most OUTLET_MAX_LOG_FIELDS, names and values within OUTLET_MAX_MESSAGE. No secrets: the
     * host does not know which they are. Thread: [any]. */
    outlet_status (*log)(const outlet_host *host, outlet_call call, uint32_t level,
                         outlet_view message, const outlet_field *OUTLET_OPTIONAL fields,
                         uint64_t count);

    /* Gives the reason of the failure that this call is about to return.
     *
     * code: a stable word for programs, of lower-case letters, digits and '-', such as
     * "token-expired"; may be empty. message: a text for people. Copied; the last one counts.
     * Thread: [in-call]. */
    outlet_status (*fail)(const outlet_host *host, outlet_call call, outlet_view code,
                          outlet_view message);

    /* When the host stops waiting for this call, in nanoseconds of CLOCK_MONOTONIC; 0 is never.
     *
     * Thread: [in-call]. */
    outlet_status (*deadline_ns)(const outlet_host *host, outlet_call call, uint64_t *out);

    /* One setting of the JSON configuration, in create only: top-level keys, "a.b" descends.
     *
     * A string is given unescaped, anything else as its JSON text. Valid until create returns.
     * Returns OUTLET_E_NOT_FOUND when it is not set. Thread: [in-call]. */
    outlet_status (*config_value)(const outlet_host *host, outlet_call call, outlet_view key,
                                  outlet_view *out);

    /* ---- requests: the readers work in every hook, the writers in prepare and adapt, for fields in
     * finalize, and for what would be sent in redirect ----
     *
     * A view from a reader is also dead after the next change of the same part.
     * Thread: [in-call], all of them. */

    /* The method, such as "GET". */
    outlet_status (*request_method)(const outlet_host *host, outlet_request request,
                                    outlet_view *out);
    /* The address. */
    outlet_status (*request_url)(const outlet_host *host, outlet_request request,
                                 outlet_view *out);
    /* The nth value (from 0) of a header, its name's case ignored; OUTLET_E_NOT_FOUND. */
    outlet_status (*request_header)(const outlet_host *host, outlet_request request,
                                    outlet_view name, uint32_t nth, outlet_view *out);
    /* Fills at most `capacity` fields in order; *count is how many there are in all. */
    outlet_status (*request_headers)(const outlet_host *host, outlet_request request,
                                     outlet_field *OUTLET_OPTIONAL out, uint64_t capacity,
                                     uint64_t *count);
    /* The body; empty without one; OUTLET_E_STATE when it is read from a file or a stream. */
    outlet_status (*request_body)(const outlet_host *host, outlet_request request,
                                  outlet_view *out);
    /* A fact about the request: "target.name", "target.base_url", "target.path",
     * "target.authorization", "request.id", "request.attempt" (from 1), "request.redirects" (from 1,
     * for the hops of a redirect), or what a target or another plugin put there;
     * OUTLET_E_NOT_FOUND. */
    outlet_status (*request_attr)(const outlet_host *host, outlet_request request, outlet_view key,
                                  outlet_view *out);
    /* Sets the method; OUTLET_E_ARGUMENT when it is not a token (RFC 9110 5.6.2), or CONNECT. */
    outlet_status (*request_set_method)(const outlet_host *host, outlet_request request,
                                        outlet_view method);
    /* Sets the address; OUTLET_E_ARGUMENT when it is not an absolute http or https URL. */
    outlet_status (*request_set_url)(const outlet_host *host, outlet_request request,
                                     outlet_view url);
    /* Sets a header, in place of all of that name; OUTLET_E_ARGUMENT when HTTP cannot carry it,
     * OUTLET_E_DENIED for Content-Length, which the host makes of the body. */
    outlet_status (*request_set_header)(const outlet_host *host, outlet_request request,
                                        outlet_view name, outlet_view value);
    /* Adds a header behind the others; OUTLET_E_ARGUMENT when HTTP cannot carry it. */
    outlet_status (*request_add_header)(const outlet_host *host, outlet_request request,
                                        outlet_view name, outlet_view value);
    /* Removes all headers of a name; OUTLET_OK also when there were none. */
    outlet_status (*request_remove_header)(const outlet_host *host, outlet_request request,
                                           outlet_view name);
    /* Sets the body; an empty view leaves a body of no bytes. */
    outlet_status (*request_set_body)(const outlet_host *host, outlet_request request,
                                      outlet_view body);
    /* Leaves a fact for later hooks and other plugins, never sent; OUTLET_E_DENIED for keys that
     * begin with "target.", "request." or "outlet.". */
    outlet_status (*request_set_attr)(const outlet_host *host, outlet_request request,
                                      outlet_view key, outlet_view value);
    /* What this instance keeps for the call that the request belongs to: the same in all of its hooks,
     * null at first. Needs request_done, which is the time to free it: OUTLET_E_STATE without. */
    outlet_status (*request_slot)(const outlet_host *host, outlet_request request,
                                  void *OUTLET_OPTIONAL *OUTLET_NONNULL out);
    /* Keeps a pointer for the call; possible in every hook. */
    outlet_status (*request_set_slot)(const outlet_host *host, outlet_request request,
                                      void *OUTLET_OPTIONAL slot);
    /* Answers the request in place of the network. Later hooks run as for any response.
     * OUTLET_E_ARGUMENT for a status outside 200...599 or a header HTTP cannot carry,
     * OUTLET_E_UNSUPPORTED where the host would not play the answer. */
    outlet_status (*request_answer)(const outlet_host *host, outlet_request request,
                                    int32_t status, const outlet_field *OUTLET_OPTIONAL fields,
                                    uint64_t count, outlet_view body);

    /* ---- responses: readers in did_receive, process and retry, writers in process ------------
     *
     * Thread: [in-call], all of them. */

    /* The status code; OUTLET_E_NOT_FOUND when no response arrived. */
    outlet_status (*response_status)(const outlet_host *host, outlet_response response,
                                     int32_t *out);
    /* Why the request failed; OUTLET_E_NOT_FOUND when it did not. `code` is a stable word such as
     * "timedOut". */
    outlet_status (*response_error)(const outlet_host *host, outlet_response response,
                                    outlet_view *code, outlet_view *message);
    /* The nth value (from 0) of a header, its name's case ignored; OUTLET_E_NOT_FOUND. */
    outlet_status (*response_header)(const outlet_host *host, outlet_response response,
                                     outlet_view name, uint32_t nth, outlet_view *out);
    /* Fills at most `capacity` fields in order; *count is how many there are in all. */
    outlet_status (*response_headers)(const outlet_host *host, outlet_response response,
                                      outlet_field *OUTLET_OPTIONAL out, uint64_t capacity,
                                      uint64_t *count);
    /* The body in memory; empty without one. */
    outlet_status (*response_body)(const outlet_host *host, outlet_response response,
                                   outlet_view *out);
    /* Puts another response in place of this outcome, also of a failed one. */
    outlet_status (*response_replace)(const outlet_host *host, outlet_response response,
                                      int32_t status, const outlet_field *OUTLET_OPTIONAL fields,
                                      uint64_t count, outlet_view body);
    /* Makes the outcome a failure of this plugin's; code and message as in `fail`. */
    outlet_status (*response_replace_error)(const outlet_host *host, outlet_response response,
                                            outlet_view code, outlet_view message);

    /* ---- the rest ---------------------------------------------------------------------------- */

    /* Appends bytes to a sink; OUTLET_E_ARGUMENT above 64 MiB in all. Thread: [in-call]. */
    outlet_status (*sink_write)(const outlet_host *host, outlet_sink sink, outlet_view bytes);

    /* Whether somebody waits for this completion: OUTLET_OK, or OUTLET_E_CANCELLED when nobody does any
     * more. Thread: [any]. */
    outlet_status (*is_awaited)(const outlet_host *host, outlet_completion completion);

    /* Settles an adapt, a prepare or a process: OUTLET_OK takes the request or the response as it is
     * now, anything else fails it; `code` and `message` say why, as in `fail`. Allowed inside the hook
     * already; a hook that fails after that has failed. The handles that the hook was given are stale
     * from now on.
     *
     * Returns OUTLET_E_STALE, and the host takes note, when it was settled before.
     * Thread: [any]. */
    outlet_status (*done)(const outlet_host *host, outlet_completion completion,
                          outlet_status result, outlet_view code, outlet_view message);

    /* Settles a retry; `verdict` is one of OUTLET_RETRY_*, delay_ns counts for
     * OUTLET_RETRY_AFTER only, `code` and `message` for OUTLET_RETRY_FAIL_WITH only. A verdict that the
     * host does not know is a failure.
     *
     * Returns as `done` does. Thread: [any]. */
    outlet_status (*retry_done)(const outlet_host *host, outlet_completion completion,
                                int32_t verdict, uint64_t delay_ns, outlet_view code,
                                outlet_view message);

    /* Answers a quiesce that returned OUTLET_PENDING. Thread: [any]. */
    outlet_status (*quiesced)(const outlet_host *host);

    /* Settles a redirect; `verdict` is one of OUTLET_REDIRECT_*, `code` and `message` count for
     * OUTLET_REDIRECT_FAIL only. A verdict that the host does not know is a failure.
     *
     * Returns as `done` does. Thread: [any]. */
    outlet_status (*redirect_done)(const outlet_host *host, outlet_completion completion,
                                   int32_t verdict, outlet_view code, outlet_view message);

    /* All of a request's head in one call.
     *
     * OUTLET_E_ARGUMENT when out->struct_size is less than that of this minor 0. Thread: [in-call]. */
    outlet_status (*request_snapshot)(const outlet_host *host, outlet_request request,
                                      outlet_request_snapshot *out);

    /* Reads a part of a request's body, whatever it comes from: memory, a file, a stream.
     *
     * Fills at most `capacity` bytes from `offset` on; *count is how many, 0 at the end. A stream is read
     * in order, or again from its start for an earlier offset; OUTLET_E_STATE where it is being sent
     * already. One that cannot go back to its start fails the request. May block on a disk. Thread: [in-call]. */
    outlet_status (*request_body_read)(const outlet_host *host, outlet_request request,
                                       uint64_t offset, uint8_t *OUTLET_OPTIONAL out,
                                       uint64_t capacity, uint64_t *count);

    /* All of a response's head in one call; as request_snapshot. Thread: [in-call]. */
    outlet_status (*response_snapshot)(const outlet_host *host, outlet_response response,
                                       outlet_response_snapshot *out);

    /* Reads a part of a response's body: of the file, for a download. As request_body_read.
     * Thread: [in-call]. */
    outlet_status (*response_body_read)(const outlet_host *host, outlet_response response,
                                        uint64_t offset, uint8_t *OUTLET_OPTIONAL out,
                                        uint64_t capacity, uint64_t *count);
};

OUTLET_END_DECLARATIONS

#endif

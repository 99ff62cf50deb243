/* outlet/host.h - the functions of the host that a plugin can call.
 *
 * Each instance has its own table, which create receives and which is valid until destroy has
 * returned. The table is the first argument of each of its functions. It identifies the instance,
 * so pass the table itself, not a copy. All functions of minor version 0 exist; check later ones
 * with OUTLET_HAS.
 *
 * A call with a stale handle, or with one of another instance, returns OUTLET_E_STALE and has no
 * other effect. Results are written to `out`, and only if the call returns OUTLET_OK. A length
 * above its limit returns OUTLET_E_ARGUMENT; the host does not read the data then. So does a text
 * that is not UTF-8, and the call has no effect then. A change of a request that is refused is also
 * logged as a warning in the plugin's name. */
#ifndef OUTLET_HOST_H
#define OUTLET_HOST_H

#include "base.h"

OUTLET_BEGIN_DECLARATIONS

/* Levels of outlet_host.log. */
#define OUTLET_LOG_DEBUG 0
#define OUTLET_LOG_INFO 1
#define OUTLET_LOG_WARNING 2
#define OUTLET_LOG_ERROR 3

/* Limits; lengths are in bytes. */
#define OUTLET_MAX_MESSAGE 4096       /* a message, a log line, a name or value of a log field */
#define OUTLET_MAX_LOG_FIELDS 32      /* the number of fields of a log line */
#define OUTLET_MAX_LOG_LINES 1000     /* the number of log lines of a level at once */
#define OUTLET_LOG_LINES_PER_SECOND 100 /* those that are allowed in each second after them */
#define OUTLET_MAX_CODE 64            /* a failure's code */
#define OUTLET_MAX_NAME 1024          /* a name: of a header, an attribute, a setting, a service */
#define OUTLET_MAX_VALUE 65536        /* a method, a URL, the value of a header or attribute */
#define OUTLET_MAX_FIELDS 2000        /* the number of header fields of a message */
#define OUTLET_MAX_ATTRIBUTES 1000    /* the number of attributes that plugins set for a request */
#define OUTLET_MAX_ATTRIBUTE_BYTES 1048576 /* their keys and values together */
#define OUTLET_MAX_BODY 1073741824    /* a body that a plugin sets */
#define OUTLET_MAX_RETRY_DELAY 86400000000000 /* a day, in nanoseconds */

/* Verdicts of outlet_host.retry_done. */
#define OUTLET_RETRY_NO 0        /* This plugin does not retry; the next plugin decides. */
#define OUTLET_RETRY_NOW 1       /* Send again immediately. */
#define OUTLET_RETRY_AFTER 2     /* Send again after delay_ns, OUTLET_MAX_RETRY_DELAY at most. A
                                    longer delay fails the request, and is a violation. */
#define OUTLET_RETRY_FAIL_WITH 3 /* Do not retry; fail with the error passed to retry_done. */

/* Verdicts of outlet_host.redirect_done. */
#define OUTLET_REDIRECT_FOLLOW 0 /* Follow it, with the changes made; the next plugin decides. */
#define OUTLET_REDIRECT_TAKE 1   /* Do not follow: the redirect is the response. */
#define OUTLET_REDIRECT_FAIL 2   /* Do not follow: fail with the error passed to redirect_done. */

typedef struct outlet_host outlet_host;

/* The head of a request, for request_snapshot: the values that the single functions return.
 *
 * The views and the array are borrowed like theirs. */
typedef struct outlet_request_snapshot {
    uint32_t struct_size; /* set by the plugin: sizeof(outlet_request_snapshot) */
    uint32_t reserved;    /* 0 */
    outlet_view method;
    outlet_view url;
    const outlet_field *OUTLET_OPTIONAL fields;
    uint64_t field_count;
    uint64_t body_length; /* in bytes; OUTLET_UNKNOWN_LENGTH if it is unknown */
} outlet_request_snapshot;

/* The head of a response, for response_snapshot. */
typedef struct outlet_response_snapshot {
    uint32_t struct_size;  /* set by the plugin: sizeof(outlet_response_snapshot) */
    int32_t status;        /* 0 if no response arrived */
    outlet_view error_code; /* empty if the request did not fail */
    outlet_view error_message;
    const outlet_field *OUTLET_OPTIONAL fields;
    uint64_t field_count;
    uint64_t body_length; /* the length of the body that response_body_read reads, in bytes */
} outlet_response_snapshot;

/* The length of a body whose length is unknown before its end. */
#define OUTLET_UNKNOWN_LENGTH UINT64_MAX

struct outlet_host {
    uint32_t struct_size; /* sizeof(outlet_host) of the host */
    uint32_t abi_minor;   /* OUTLET_ABI_MINOR of the host */
    outlet_view name;     /* "outlet"; valid as long as the table */
    outlet_view version;  /* the host's own version; valid as long as the table */

    /* Finds a further service by name and revision, such as "outlet.http/1".
     *
     * out: receives the service's table, valid as long as this one. Returns OUTLET_E_UNSUPPORTED if
     * this host does not offer it, OUTLET_E_DENIED if it is not granted to this plugin.
     * Thread: [any]. */
    outlet_status (*extension)(const outlet_host *host, outlet_view id,
                               const void *OUTLET_OPTIONAL *OUTLET_NONNULL out);

    /* Writes a line to the host's log; `level` is one of OUTLET_LOG_*.
     *
     * call: the call that it is about, or {0}. fields: structured data, such as "attempt" with "2";
     * at most OUTLET_MAX_LOG_FIELDS, with names and values of at most OUTLET_MAX_MESSAGE bytes. Do
     * not log secrets: the host cannot recognize them. Of more lines of a level than
     * OUTLET_MAX_LOG_LINES at once, or OUTLET_LOG_LINES_PER_SECOND over time, the host logs the
     * number only, and returns OUTLET_E_STATE. After destroy, returns OUTLET_E_STALE, and
     * the host records a violation. Thread: [any]. */
    outlet_status (*log)(const outlet_host *host, outlet_call call, uint32_t level,
                         outlet_view message, const outlet_field *OUTLET_OPTIONAL fields,
                         uint64_t count);

    /* Sets the reason of the failure that this call is about to return.
     *
     * code: a stable code for programs, of ASCII letters, digits and '-', such as
     * "token-expired"; may be empty. message: a text for users. If called again, the last one
     * counts. Returns OUTLET_E_ARGUMENT if one of them is refused; the failure then says why,
     * unless another reason was set.
     * Thread: [in-call]. */
    outlet_status (*fail)(const outlet_host *host, outlet_call call, outlet_view code,
                          outlet_view message);

    /* Returns the time at which the host stops waiting for this call, in nanoseconds of
     * CLOCK_MONOTONIC; 0 means that it waits without a limit. In quiesce, the time at which the
     * host abandons the instance.
     *
     * Thread: [in-call]. */
    outlet_status (*deadline_ns)(const outlet_host *host, outlet_call call, uint64_t *out);

    /* Returns a value of the JSON configuration; only in create and reconfigure.
     *
     * key: the name of a top-level member; "a.b" is the member "b" of the object "a". A string is
     * returned unescaped, any other value as its JSON text; whole numbers up to 2^53 without fraction
     * and exponent ("100" for 1e2), which a schema takes for integers. Valid until that call returns.
     * Returns OUTLET_E_NOT_FOUND if it is not set, and OUTLET_E_STATE in any other call, which is
     * also logged as a warning in the plugin's name. Thread: [in-call]. */
    outlet_status (*config_value)(const outlet_host *host, outlet_call call, outlet_view key,
                                  outlet_view *out);

    /* ---- requests -----------------------------------------------------------------------------
     *
     * Functions that read work in every hook. Functions that change the request work in prepare and
     * adapt, in finalize for header fields, and in redirect for `next`. A view also becomes invalid
     * with the next change of the same part.
     * Thread: [in-call], all of them. */

    /* Returns the method, such as "GET". */
    outlet_status (*request_method)(const outlet_host *host, outlet_request request,
                                    outlet_view *out);
    /* Returns the URL. */
    outlet_status (*request_url)(const outlet_host *host, outlet_request request,
                                 outlet_view *out);
    /* Returns the nth value (from 0) of a header; the case of the name is ignored.
     * Returns OUTLET_E_NOT_FOUND if there is none. */
    outlet_status (*request_header)(const outlet_host *host, outlet_request request,
                                    outlet_view name, uint32_t nth, outlet_view *out);
    /* Copies at most `capacity` fields to `out` in order; *count receives the number of all
     * fields. */
    outlet_status (*request_headers)(const outlet_host *host, outlet_request request,
                                     outlet_field *OUTLET_OPTIONAL out, uint64_t capacity,
                                     uint64_t *count);
    /* Returns the body; empty if there is none. Returns OUTLET_E_STATE if the body is read from a
     * file or a stream. */
    outlet_status (*request_body)(const outlet_host *host, outlet_request request,
                                  outlet_view *out);
    /* Returns an attribute of the request: "target.name", "target.base_url", "target.path",
     * "target.authorization", "request.id", "request.attempt" (from 1), "request.redirects" (from
     * 1, only for requests that follow a redirect), or one that a target or a plugin has set.
     * Returns OUTLET_E_NOT_FOUND if it is not set. */
    outlet_status (*request_attr)(const outlet_host *host, outlet_request request, outlet_view key,
                                  outlet_view *out);
    /* Sets the method. Returns OUTLET_E_ARGUMENT if it is CONNECT or not a token (RFC 9110
     * 5.6.2). */
    outlet_status (*request_set_method)(const outlet_host *host, outlet_request request,
                                        outlet_view method);
    /* Sets the URL. Returns OUTLET_E_ARGUMENT if it is not an absolute http or https URL. */
    outlet_status (*request_set_url)(const outlet_host *host, outlet_request request,
                                     outlet_view url);
    /* Sets a header, and removes all others of the same name. The value need not be UTF-8, see
     * outlet_field.
     * Returns OUTLET_E_ARGUMENT if name or value are not valid in HTTP, for a Host that is not a
     * host, for the fields that only the transport sets (Transfer-Encoding, Connection, Upgrade,
     * TE, Trailer, Keep-Alive, Proxy-Connection, Proxy-Authorization), and above
     * OUTLET_MAX_FIELDS fields;
     * OUTLET_E_DENIED for Content-Length, which the host sets itself, and in finalize for Host. */
    outlet_status (*request_set_header)(const outlet_host *host, outlet_request request,
                                        outlet_view name, outlet_view value);
    /* Adds a header at the end. Returns the same statuses as request_set_header, and
     * OUTLET_E_ARGUMENT for a second Host. */
    outlet_status (*request_add_header)(const outlet_host *host, outlet_request request,
                                        outlet_view name, outlet_view value);
    /* Removes all headers of a name. Returns OUTLET_OK even if there are none, OUTLET_E_DENIED for
     * Content-Length and in finalize for Host. */
    outlet_status (*request_remove_header)(const outlet_host *host, outlet_request request,
                                           outlet_view name);
    /* Sets the body; an empty view sets an empty body. */
    outlet_status (*request_set_body)(const outlet_host *host, outlet_request request,
                                      outlet_view body);
    /* Sets an attribute, which later hooks and other plugins can read and which is never sent.
     *
     * Attributes that adapt and prepare set belong to an attempt: all hooks up to process can read
     * them, but not those of a further attempt, nor request_done. Attributes that finalize sets
     * reach will_send only, and those that redirect sets on the next request only the hooks up to
     * its will_send. What a plugin needs for the whole call belongs to its slot (request_slot).
     * Returns OUTLET_E_DENIED for keys that begin with "target.", "request." or "outlet.", and
     * OUTLET_E_ARGUMENT for an empty key and above OUTLET_MAX_ATTRIBUTES attributes or
     * OUTLET_MAX_ATTRIBUTE_BYTES bytes of all plugins together. */
    outlet_status (*request_set_attr)(const outlet_host *host, outlet_request request,
                                      outlet_view key, outlet_view value);
    /* Returns the pointer that this instance has stored for the request's call; null at first. It
     * is the same in all hooks of the call. Returns OUTLET_E_STATE if the instance has no
     * request_done hook, which must free the data. */
    outlet_status (*request_slot)(const outlet_host *host, outlet_request request,
                                  void *OUTLET_OPTIONAL *OUTLET_NONNULL out);
    /* Stores a pointer for the request's call; works in every hook. */
    outlet_status (*request_set_slot)(const outlet_host *host, outlet_request request,
                                      void *OUTLET_OPTIONAL slot);
    /* Answers the request without the network. Later hooks are called as for any response. The
     * host sets Content-Length, if it is there, to the length of the body, unless that is empty,
     * and leaves out other fields of the transport, such as Transfer-Encoding.
     * Returns OUTLET_E_ARGUMENT for a status outside 200...599, a header that is not valid in HTTP
     * or a body that the response cannot have (status 204 or 304, or a request with HEAD),
     * OUTLET_E_STATE in hooks that cannot answer. */
    outlet_status (*request_answer)(const outlet_host *host, outlet_request request,
                                    int32_t status, const outlet_field *OUTLET_OPTIONAL fields,
                                    uint64_t count, outlet_view body);

    /* ---- responses ----------------------------------------------------------------------------
     *
     * Functions that read work in every hook with a response. Functions that replace the response
     * work only in process.
     * Thread: [in-call], all of them. */

    /* Returns the status code. Returns OUTLET_E_NOT_FOUND if no response arrived. */
    outlet_status (*response_status)(const outlet_host *host, outlet_response response,
                                     int32_t *out);
    /* Returns why the request failed. `code` is a stable code such as "timedOut". Returns
     * OUTLET_E_NOT_FOUND if the request did not fail. */
    outlet_status (*response_error)(const outlet_host *host, outlet_response response,
                                    outlet_view *code, outlet_view *message);
    /* Returns the nth value (from 0) of a header; the case of the name is ignored.
     * Returns OUTLET_E_NOT_FOUND if there is none. */
    outlet_status (*response_header)(const outlet_host *host, outlet_response response,
                                     outlet_view name, uint32_t nth, outlet_view *out);
    /* Copies at most `capacity` fields to `out` in order; *count receives the number of all
     * fields. */
    outlet_status (*response_headers)(const outlet_host *host, outlet_response response,
                                      outlet_field *OUTLET_OPTIONAL out, uint64_t capacity,
                                      uint64_t *count);
    /* Returns the body in memory; empty if there is none. */
    outlet_status (*response_body)(const outlet_host *host, outlet_response response,
                                   outlet_view *out);
    /* Replaces this outcome by another response, also if the request failed. Fields as for
     * `request_answer`. Returns OUTLET_E_STATE in hooks other than process, and for a request that
     * a plugin has refused. */
    outlet_status (*response_replace)(const outlet_host *host, outlet_response response,
                                      int32_t status, const outlet_field *OUTLET_OPTIONAL fields,
                                      uint64_t count, outlet_view body);
    /* Replaces this outcome by a failure of this plugin; code and message as for `fail`. If one of
     * them is not valid, returns OUTLET_E_ARGUMENT, and the request fails without them. */
    outlet_status (*response_replace_error)(const outlet_host *host, outlet_response response,
                                            outlet_view code, outlet_view message);

    /* ---- the rest ---------------------------------------------------------------------------- */

    /* Appends bytes to a sink. Returns OUTLET_E_ARGUMENT above 64 MiB in total, and for a null
     * pointer with a length; what the sink is for then fails, whatever else is written.
     * Thread: [in-call]. */
    outlet_status (*sink_write)(const outlet_host *host, outlet_sink sink, outlet_view bytes);

    /* Checks whether a result is still needed. Returns OUTLET_OK if it is, OUTLET_E_CANCELLED if
     * not.
     * Thread: [any]. */
    outlet_status (*is_awaited)(const outlet_host *host, outlet_completion completion);

    /* Settles a hook that returns the same statuses as adapt.
     *
     * result: with OUTLET_OK, the host uses the request or response as it is now. Any other value
     * fails the request; `code` and `message` are the reason, as for `fail`. The handles that the
     * hook received are read-only from now on, and stale when the hook has returned, too. May be
     * called before the hook returns; if the hook then returns a failure, the request fails.
     *
     * Returns OUTLET_E_STALE if the completion was settled before, which is a violation also after
     * the host has stopped waiting, and OUTLET_E_ARGUMENT, without settling it, if it is one of
     * retry or redirect, which have their own functions; that is a violation while the host waits.
     * When it no longer waits, as after cancel, a completion may be settled once, which returns
     * OUTLET_E_STALE and has no effect, or not at all. Thread: [any]. */
    outlet_status (*done)(const outlet_host *host, outlet_completion completion,
                          outlet_status result, outlet_view code, outlet_view message);

    /* Settles a retry; `verdict` is one of OUTLET_RETRY_*. delay_ns is used only for
     * OUTLET_RETRY_AFTER, `code` and `message` only for OUTLET_RETRY_FAIL_WITH. An unknown verdict
     * is a failure.
     *
     * Returns the same statuses as `done`: OUTLET_E_ARGUMENT for the completion of another hook.
     * Thread: [any]. */
    outlet_status (*retry_done)(const outlet_host *host, outlet_completion completion,
                                int32_t verdict, uint64_t delay_ns, outlet_view code,
                                outlet_view message);

    /* Reports the end of a quiesce that returns OUTLET_PENDING, or is still running. Returns
     * OUTLET_E_STATE, and the host records a violation, if it does not wait for that, and
     * OUTLET_E_STALE without an instance, as in create and after destroy. Thread: [any]. */
    outlet_status (*quiesced)(const outlet_host *host);

    /* Settles a redirect; `verdict` is one of OUTLET_REDIRECT_*. `code` and `message` are used only
     * for OUTLET_REDIRECT_FAIL. An unknown verdict is a failure.
     *
     * Returns the same statuses as `done`: OUTLET_E_ARGUMENT for the completion of another hook.
     * Thread: [any]. */
    outlet_status (*redirect_done)(const outlet_host *host, outlet_completion completion,
                                   int32_t verdict, outlet_view code, outlet_view message);

    /* Returns the complete head of a request in one call.
     *
     * Returns OUTLET_E_ARGUMENT if out->struct_size is less than the size in minor version 0.
     * Thread: [in-call]. */
    outlet_status (*request_snapshot)(const outlet_host *host, outlet_request request,
                                      outlet_request_snapshot *out);

    /* Reads a part of a request's body from memory, a file or a stream.
     *
     * Copies at most `capacity` bytes from `offset` on; *count receives their number, 0 at the end.
     * A stream is read in order, or again from its start for an earlier offset. Returns
     * OUTLET_E_STATE if the stream is already being sent, or if another thread is reading it. A
     * stream that cannot be rewound fails the request. May block on disk input, and as long as the
     * program's stream. Thread: [in-call]. */
    outlet_status (*request_body_read)(const outlet_host *host, outlet_request request,
                                       uint64_t offset, uint8_t *OUTLET_OPTIONAL out,
                                       uint64_t capacity, uint64_t *count);

    /* Returns the complete head of a response in one call, as request_snapshot.
     * Thread: [in-call]. */
    outlet_status (*response_snapshot)(const outlet_host *host, outlet_response response,
                                       outlet_response_snapshot *out);

    /* Reads a part of a response's body, as request_body_read; for a download, from its file.
     * Thread: [in-call]. */
    outlet_status (*response_body_read)(const outlet_host *host, outlet_response response,
                                        uint64_t offset, uint8_t *OUTLET_OPTIONAL out,
                                        uint64_t capacity, uint64_t *count);
};

OUTLET_END_DECLARATIONS

#endif

/* outlet/http.h - the service "outlet.http/1": requests that a plugin sends itself.
 *
 *   const void *table;
 *   if (host->extension(host, outlet_text(OUTLET_HTTP_1), &table) == OUTLET_OK) http = table;
 *
 * The requests use a session of the program, with its connections, settings, server trust and the
 * other plugins. The hooks of the sending instance are not called for them, so a plugin that
 * fetches a token does not wait for itself. They start at once, also where all connections that the
 * session may have are in use, because the transfers there may wait for the plugin. The plugin must
 * request permission for the servers that it sends to, such as "net:auth.example.com". A redirect
 * to any other server is not followed, but is the response. A plugin that needs this service lists
 * it in required_services of its descriptor. */
#ifndef OUTLET_HTTP_H
#define OUTLET_HTTP_H

#include "base.h"
#include "host.h"

OUTLET_BEGIN_DECLARATIONS

#define OUTLET_HTTP_1 "outlet.http/1"

/* The maximum number of requests of one instance whose `done` has not been called, also of those
 * that were cancelled. */
#define OUTLET_MAX_EXCHANGES 64

/* A value of flags: no redirect is followed; the redirect is the response. */
#define OUTLET_HTTP_NO_REDIRECTS (1u << 0)

/* A request in progress that the plugin has sent. */
typedef struct outlet_exchange {
    uint64_t id;
} outlet_exchange;

/* A request to send; the host copies it before send returns. */
typedef struct outlet_http_request {
    uint32_t struct_size; /* sizeof(outlet_http_request) the plugin was compiled with */
    uint32_t flags;       /* OUTLET_HTTP_…, or 0; unknown flags are refused */
    outlet_view method;   /* "GET" if empty */
    outlet_view url;      /* absolute, http or https */
    const outlet_field *OUTLET_OPTIONAL fields;
    uint64_t field_count;
    outlet_view body;     /* no body if empty */
    uint64_t timeout_ns;  /* for the whole request, redirects included; 0 means 30 seconds */
} outlet_http_request;

/* Receives the outcome of a request. All functions that read responses work until it returns.
 *
 * data: the pointer passed to send. Thread: [hook]. */
typedef void (*outlet_http_done)(outlet_instance *instance, outlet_call call,
                                 outlet_response response, void *OUTLET_OPTIONAL data);

/* The table of the service; valid as long as the table of the host. */
typedef struct outlet_http {
    uint32_t struct_size; /* sizeof(outlet_http) of the host */
    uint32_t reserved;    /* 0 */

    /* Starts a request and returns immediately.
     *
     * The host calls `done` exactly once, also after a cancel, at the latest before quiesce. Do not
     * wait for it inside a hook: return OUTLET_PENDING instead.
     *
     * call: the hook's call that the request is for, or {0}. With a call, the request uses the
     * session of that call and skips the hooks of all plugins whose own requests led to that call.
     * For trust, that is the session of the connection; for on_events, that of the events.
     * out: receives the handle for cancel.
     *
     * Returns OUTLET_E_ARGUMENT if the request cannot be sent, also for the method CONNECT, for
     * fields that the host or the transport sets (Host, Content-Length, Transfer-Encoding and
     * others, see ABI.md) and for a GET or HEAD with a body, OUTLET_E_UNSUPPORTED for an
     * unknown flag, OUTLET_E_DENIED if the plugin is not granted the server, and OUTLET_E_STATE in
     * create, after quiesce has begun, without a session, or if there are
     * OUTLET_MAX_EXCHANGES. `done` is not called then.
     * Thread: [any]. */
    outlet_status (*send)(const outlet_host *host, outlet_call call,
                          const outlet_http_request *request, outlet_http_done done,
                          void *OUTLET_OPTIONAL data, outlet_exchange *out);

    /* Cancels a request: its `done` is called with the error "cancelled", unless that call has
     * begun.
     *
     * Returns OUTLET_E_STALE if the request has ended. Thread: [any]. */
    outlet_status (*cancel)(const outlet_host *host, outlet_exchange exchange);
} outlet_http;

OUTLET_END_DECLARATIONS

#endif

/* outlet/http.h - requests of a plugin's own: the service "outlet.http/1".
 *
 *   const void *table;
 *   if (host->extension(host, outlet_text(OUTLET_HTTP_1), &table) == OUTLET_OK) http = table;
 *
 * They go through a session of the program's, with its connections, settings, trust and the other plugins,
 * and without the hooks of the instance that sends them: a plugin that fetches a token does not wait
 * for itself. The plugin must ask for the servers that it sends to, such as "net:auth.example.com", in its
 * permissions; a redirect to any other is not followed, but is the response. One that cannot do without says
 * so in its descriptor (required_services). */
#ifndef OUTLET_HTTP_H
#define OUTLET_HTTP_H

#include "base.h"
#include "host.h"

OUTLET_BEGIN_DECLARATIONS

#define OUTLET_HTTP_1 "outlet.http/1"

/* How many requests of one instance may be under way. */
#define OUTLET_MAX_EXCHANGES 64

/* flags: a redirect is the response, wherever it leads; as for a token that must come from one address. */
#define OUTLET_HTTP_NO_REDIRECTS (1u << 0)

/* A request of a plugin's own that is under way. */
typedef struct outlet_exchange {
    uint64_t id;
} outlet_exchange;

/* What is to be sent; copied before send returns. */
typedef struct outlet_http_request {
    uint32_t struct_size; /* sizeof(outlet_http_request) the plugin was compiled with */
    uint32_t flags;       /* OUTLET_HTTP_…, or 0; one that the host does not know is refused */
    outlet_view method;   /* "GET" when empty */
    outlet_view url;      /* absolute, http or https */
    const outlet_field *OUTLET_OPTIONAL fields;
    uint64_t field_count;
    outlet_view body;     /* none when empty */
    uint64_t timeout_ns;  /* for all of it, redirects included; 30 seconds when 0 */
} outlet_http_request;

/* What came of a request: all readers of responses work, until this returns.
 *
 * data: what send was given. Thread: [hook]. */
typedef void (*outlet_http_done)(outlet_instance *instance, outlet_call call,
                                 outlet_response response, void *OUTLET_OPTIONAL data);

/* The service's table; valid as long as the host's. */
typedef struct outlet_http {
    uint32_t struct_size; /* sizeof(outlet_http) of the host */
    uint32_t reserved;    /* 0 */

    /* Sends a request and returns at once; `done` follows exactly once, cancelled or not, at the latest
     * before quiesce. Never wait for it inside of a hook: promise an answer (OUTLET_PENDING).
     *
     * call: the hook's call that it is for, or {0}. With it, the request goes through the session of that
     * call, and passes by all plugins that this one was called for. out: receives what cancels it.
     *
     * OUTLET_E_ARGUMENT when it cannot be sent, OUTLET_E_UNSUPPORTED for an unknown flag, OUTLET_E_DENIED
     * when the plugin is not granted the server, OUTLET_E_STATE when there is no session, in create and after
     * quiesce has begun, or when OUTLET_MAX_EXCHANGES are under way. Nothing follows then. Thread: [any]. */
    outlet_status (*send)(const outlet_host *host, outlet_call call,
                          const outlet_http_request *request, outlet_http_done done,
                          void *OUTLET_OPTIONAL data, outlet_exchange *out);

    /* Gives a request up: its `done` follows, with the error "cancelled", unless it was under way.
     *
     * OUTLET_E_STALE when it has ended. Thread: [any]. */
    outlet_status (*cancel)(const outlet_host *host, outlet_exchange exchange);
} outlet_http;

OUTLET_END_DECLARATIONS

#endif

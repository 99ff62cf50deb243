/* outlet/hooks.h - the moments of a request that a plugin can take part in.
 *
 *   adapt -> prepare, then for every request on the wire
 *       finalize -> will_send -> (network) -> redirect?
 *   then retry? -> did_receive -> process -> request_done
 *
 * A further attempt begins again at adapt. prepare comes behind all that the program itself makes of
 * the request. On the wire are attempts, the hops that redirects lead to, and the rounds of an
 * authentication; what the host's cache answers is not. A request that libcurl repeats because a kept
 * connection was closed counts once, and so do the rounds of NTLM and Negotiate. did_receive and process
 * see what the call came to in the end, once: a stored response as well.
 *
 * adapt and prepare see no redirects: a plugin that must see every request on the wire needs finalize. */
#ifndef OUTLET_HOOKS_H
#define OUTLET_HOOKS_H

#include "base.h"
#include "events.h"
#include "trust.h"

OUTLET_BEGIN_DECLARATIONS

/* All hooks are optional. A status of OUTLET_OK goes on; a negative one fails the request with
 * the text given to outlet_host.fail. */
typedef struct outlet_hooks {
    uint32_t struct_size; /* sizeof(outlet_hooks) the plugin was compiled with */
    uint32_t reserved;    /* 0 */

    /* Changes a request before it is sent, behind all adapters; all plugins in order. Answers as adapt
     * does. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL prepare)(outlet_instance *instance, outlet_call call,
                                             outlet_request request,
                                             outlet_completion completion);

    /* Sees a request that is about to be sent; cannot change it. One that may block runs beside the
     * transfer; it has ended when did_receive begins. Thread: [hook]. */
    void (*OUTLET_OPTIONAL will_send)(outlet_instance *instance, outlet_call call,
                                      outlet_request request);

    /* Sees the outcome; cannot change it. Without a body for downloads and WebSockets, and for streams
     * unless a plugin has process. Thread: [hook]. */
    void (*OUTLET_OPTIONAL did_receive)(outlet_instance *instance, outlet_call call,
                                        outlet_request request, outlet_response response);

    /* May replace the outcome, unless the call was cancelled; of a download or a WebSocket not with a body, which fails it. Answers as
     * adapt does. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL process)(outlet_instance *instance, outlet_call call,
                                             outlet_request request, outlet_response response,
                                             outlet_completion completion);

    /* Changes a request, and may take its time: fetch a token, wait for a turn.
     *
     * OUTLET_OK: done (settled by `done`, or nothing left to say). OUTLET_PENDING: `done` follows, from
     * any thread; until then the request stays changeable by the holder of the completion, and from
     * then on it is stale. Never settled: the host fails the request at its deadline. A request that
     * is cancelled reaches `cancel` at once. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL adapt)(outlet_instance *instance, outlet_call call,
                                           outlet_request request, outlet_completion completion);

    /* Decides about another attempt after a failure; `attempt` counts those made, from 1.
     *
     * OUTLET_OK: settled by retry_done, or OUTLET_RETRY_NO. OUTLET_PENDING: retry_done follows.
     * Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL retry)(outlet_instance *instance, outlet_call call,
                                           outlet_request request, outlet_response response,
                                           uint32_t attempt, outlet_completion completion);

    /* Nobody waits for this completion any more; stop early. It may still be settled, which is
     * answered with OUTLET_E_STALE and not held against the plugin.
     *
     * Thread: any of the host's, also beside other hooks. Must not block. */
    void (*OUTLET_OPTIONAL cancel)(outlet_instance *instance, outlet_completion completion);

    /* The call is over: nothing follows with this request's slot, which may be freed now.
     *
     * Exactly once for every call that any hook of this instance saw, refused and cancelled ones
     * included, behind all of them; those that were pending have had their `cancel`. Thread: [hook]. */
    void (*OUTLET_OPTIONAL request_done)(outlet_instance *instance, outlet_call call,
                                         outlet_request request);

    /* Sees a request as it is sent, and may set or add fields: sign it, or refuse it.
     *
     * Host, Content-Length, Accept-Encoding, User-Agent, Cookie and Authorization are there as far as they
     * are sent; not so what answers Digest, NTLM and Negotiate, and the fields of a WebSocket's
     * handshake. Only fields can be changed, and not Host and Content-Length: OUTLET_E_DENIED. What is set for
     * one request is not sent with the next. "request.redirects" says how many redirects came before.
     * Not called for requests that a plugin answered. Answers as adapt does. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL finalize)(outlet_instance *instance, outlet_call call,
                                              outlet_request request,
                                              outlet_completion completion);

    /* Decides about a redirect that is about to be followed.
     *
     * request: what was sent; response: the redirect, without a body; next: what would be sent, with all that the
     * program drops on the way to another server already gone; changeable as in adapt, but not to be
     * answered. Sent to another server than proposed, it loses its credentials.
     *
     * OUTLET_OK: settled by redirect_done, or OUTLET_REDIRECT_FOLLOW. OUTLET_PENDING: redirect_done follows.
     * Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL redirect)(outlet_instance *instance, outlet_call call,
                                              outlet_request request, outlet_response response,
                                              outlet_request next, outlet_completion completion);

    /* Makes a value of a response, for a program that asks for this plugin's (a serializer).
     *
     * Writes the value to `sink`, and names its type in *type: "json", "text", or one of the plugin's own,
     * such as "com.example.invoice"; static text. May block as long as the program waits.
     * Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL serialize)(outlet_instance *instance, outlet_call call,
                                               outlet_request request, outlet_response response,
                                               outlet_sink sink, outlet_view *type);

    /* The kinds of events that on_events is told: OUTLET_EVENT_BIT of each, or OUTLET_EVENTS_ALL. */
    uint64_t event_mask;

    /* Some events, after the fact, in their order. Nothing can be changed any more.
     *
     * A plugin that is too slow misses some, and is told how many. Thread: [hook]. */
    void (*OUTLET_OPTIONAL on_events)(outlet_instance *instance, outlet_call call,
                                      const outlet_events *events);

    /* Refuses a server that the program itself would talk to: any failure ends the handshake.
     *
     * Asked behind the program's own checks, once for each new connection, before any byte of a request is
     * sent; a server that it accepted is talked to again without asking. All transfers wait for it:
     * the descriptor must say OUTLET_F_NONBLOCKING, or the plugin is refused.
     * Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL trust)(outlet_instance *instance, outlet_call call,
                                           const outlet_trust *server);
} outlet_hooks;

/* Hooks that are none, to be filled in, as outlet_empty_descriptor. */
static inline outlet_hooks outlet_empty_hooks(void) {
    outlet_hooks hooks;
    memset(&hooks, 0, sizeof hooks);
    hooks.struct_size = (uint32_t)sizeof hooks;
    return hooks;
}

OUTLET_END_DECLARATIONS

#endif

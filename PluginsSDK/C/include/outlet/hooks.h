/* outlet/hooks.h - the hooks that a plugin can implement for a request.
 *
 *   adapt -> prepare, then for every request that is sent
 *       finalize -> will_send -> (network) -> redirect?
 *   then retry? -> did_receive -> process -> request_done
 *
 * If a plugin answers the request, will_send is called, too, but finalize is not. A further attempt
 * begins again with adapt. prepare is called after all changes that the program itself makes to the
 * request.
 *
 * Requests that are sent are attempts, the requests that follow redirects, and those that answer
 * authentication challenges. A request that the host's cache answers is not sent. A request that
 * libcurl repeats because a kept-alive connection was closed counts once, and so do the rounds of
 * NTLM and Negotiate. did_receive and process are called once, with the final outcome of the call,
 * which may be a cached response. If a serializer of the program fails, retry is called again;
 * after a further attempt, so are did_receive and process.
 *
 * adapt and prepare are not called for redirects. A plugin that must see every request that is sent
 * needs finalize. */
#ifndef OUTLET_HOOKS_H
#define OUTLET_HOOKS_H

#include "base.h"
#include "events.h"
#include "trust.h"

OUTLET_BEGIN_DECLARATIONS

/* All hooks are optional. The request continues after OUTLET_OK. After a negative status it fails
 * with the text passed to outlet_host.fail. */
typedef struct outlet_hooks {
    uint32_t struct_size; /* sizeof(outlet_hooks) the plugin was compiled with */
    uint32_t reserved;    /* 0 */

    /* Changes a request before it is sent, after all adapters. Returns the same statuses as adapt.
     * Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL prepare)(outlet_instance *instance, outlet_call call,
                                             outlet_request request,
                                             outlet_completion completion);

    /* Observes a request just before it is sent, or before the answer of a plugin is used instead;
     * cannot change it. Without OUTLET_F_NONBLOCKING, it runs concurrently with the transfer; it
     * has returned when did_receive is called. Thread: [hook]. */
    void (*OUTLET_OPTIONAL will_send)(outlet_instance *instance, outlet_call call,
                                      outlet_request request);

    /* Observes the outcome; cannot change it. The body is missing for downloads and WebSockets, and
     * for streams unless a plugin implements process. Thread: [hook]. */
    void (*OUTLET_OPTIONAL did_receive)(outlet_instance *instance, outlet_call call,
                                        outlet_request request, outlet_response response);

    /* May replace the outcome, unless the call was cancelled. For a download or a WebSocket, a
     * replacement with a body fails the request. The file of a download that is refused stays where
     * it is. Returns the same statuses as adapt. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL process)(outlet_instance *instance, outlet_call call,
                                             outlet_request request, outlet_response response,
                                             outlet_completion completion);

    /* Changes a request, and may take long, for example to fetch a token or to wait for a rate
     * limit.
     *
     * OUTLET_OK: finished; calling outlet_host.done before is allowed but not needed.
     * OUTLET_PENDING: the plugin calls outlet_host.done later, from any thread. Until then the
     * request can be changed; then its handle is stale. If the completion is never settled, the
     * host fails the request at its deadline. If the request is cancelled, the host calls `cancel`
     * immediately. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL adapt)(outlet_instance *instance, outlet_call call,
                                           outlet_request request, outlet_completion completion);

    /* Decides whether to make another attempt after one without a response, or with a response that
     * the program does not accept.
     *
     * attempt: the number of attempts made, at least 1.
     * OUTLET_OK: the verdict passed to outlet_host.retry_done, or OUTLET_RETRY_NO without one.
     * OUTLET_PENDING: the plugin calls retry_done later. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL retry)(outlet_instance *instance, outlet_call call,
                                           outlet_request request, outlet_response response,
                                           uint32_t attempt, outlet_completion completion);

    /* Called when the result of a pending hook is not needed any more, so that the plugin can stop
     * early. Settling the completion afterwards returns OUTLET_E_STALE and is not a violation.
     *
     * Thread: any thread of the host, also while other hooks run. Must not block. */
    void (*OUTLET_OPTIONAL cancel)(outlet_instance *instance, outlet_completion completion);

    /* Called when the call has ended: free what request_set_slot stored for it.
     *
     * Called exactly once for every call for which a hook of this instance was called, also if it
     * was refused or cancelled, and after all these hooks and the end functions of the streams that
     * the instance has opened for it. For hooks that were still pending, `cancel` has been called
     * before.
     *
     * request: the request as the program made it, without the attributes of plugins; without a URL
     * and with the attribute "request.id" only if it was sent without a session, and for a serialize
     * after the end of its call. Thread: [hook]. */
    void (*OUTLET_OPTIONAL request_done)(outlet_instance *instance, outlet_call call,
                                         outlet_request request);

    /* Sees a request as it is sent, and may change its header fields or refuse it; for signatures.
     *
     * The request contains Host, Content-Length, Accept-Encoding, User-Agent, Cookie and
     * Authorization if they are sent. It does not contain the Authorization field of Digest, NTLM
     * and Negotiate, nor the fields of a WebSocket handshake. Only header fields can be changed,
     * except Host and Content-Length (OUTLET_E_DENIED). Changes do not apply to later requests of
     * the same call. The attribute "request.redirects" is the number of redirects before this
     * request. Not called for requests that a plugin answers. Returns the same statuses as adapt.
     * Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL finalize)(outlet_instance *instance, outlet_call call,
                                              outlet_request request,
                                              outlet_completion completion);

    /* Decides whether a redirect is followed, and may change the next request.
     *
     * request: the request that was sent, as it was before finalize. response: the redirect, without
     * a body. next: the request
     * to be sent, without the fields that the program removes for another server. It can be changed
     * as in adapt, but request_answer is not possible. If the plugin sends it to another server
     * than the redirect does, its credentials are removed.
     *
     * OUTLET_OK: the verdict passed to outlet_host.redirect_done, or OUTLET_REDIRECT_FOLLOW without
     * one.
     * OUTLET_PENDING: the plugin calls redirect_done later. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL redirect)(outlet_instance *instance, outlet_call call,
                                              outlet_request request, outlet_response response,
                                              outlet_request next, outlet_completion completion);

    /* Converts a response into a value, for a program that uses this plugin as a serializer.
     *
     * sink: receives the value's bytes. type: receives the type of the value: "json", "text", or a
     * type that the plugin defines, such as "com.example.invoice"; the text must be static, and
     * have 1 to OUTLET_MAX_NAME bytes without control characters. A value of the type "json" is
     * JSON, and one of the type "text" is UTF-8. May block until its deadline.
     * Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL serialize)(outlet_instance *instance, outlet_call call,
                                               outlet_request request, outlet_response response,
                                               outlet_sink sink, outlet_view *type);

    /* The kinds of events that on_events receives: OUTLET_EVENT_BIT of each, or
     * OUTLET_EVENTS_ALL. */
    uint64_t event_mask;

    /* Receives a batch of events of one session in order, after the fact.
     *
     * If the plugin is too slow, events are dropped; outlet_events.dropped is their number.
     * Thread: [hook]. */
    void (*OUTLET_OPTIONAL on_events)(outlet_instance *instance, outlet_call call,
                                      const outlet_events *events);

    /* Accepts or refuses a server that has passed the program's own checks: any failure ends the
     * handshake.
     *
     * Called once for each new connection, before any byte of a request is sent. Not called again
     * for further requests on the connection. The descriptor must have OUTLET_F_NONBLOCKING;
     * otherwise the plugin is refused. The handshake fails if other calls that it must not overlap
     * with take a second. Thread: always the transport's, as all transfers wait. */
    outlet_status (*OUTLET_OPTIONAL trust)(outlet_instance *instance, outlet_call call,
                                           const outlet_trust *server);
} outlet_hooks;

/* Returns a table in which only struct_size is set; see outlet_empty_descriptor. */
static inline outlet_hooks outlet_empty_hooks(void) {
    outlet_hooks hooks;
    memset(&hooks, 0, sizeof hooks);
    hooks.struct_size = sizeof hooks;
    return hooks;
}

OUTLET_END_DECLARATIONS

#endif

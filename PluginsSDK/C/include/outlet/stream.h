/* outlet/stream.h - bodies piece by piece, never in memory as a whole: the service "outlet.stream/1".
 *
 * A stream is opened by a hook that may change the request: adapt, prepare, or, to watch, finalize. It is
 * the call's, until its `end`. A piece is a turn of the plugin's: nothing more of the body moves before it
 * has answered, so a slow plugin slows the peer, and not the memory down. */
#ifndef OUTLET_STREAM_H
#define OUTLET_STREAM_H

#include "base.h"
#include "host.h"

OUTLET_BEGIN_DECLARATIONS

#define OUTLET_STREAM_1 "outlet.stream/1"

/* How many streams of one instance may be open. */
#define OUTLET_MAX_STREAMS 1024

/* The length of a body that is not known before its end. */
#define OUTLET_LENGTH_UNKNOWN UINT64_MAX

/* Sees a piece of a response's body before the program does, wherever the body goes: memory, a file, a
 * stream.
 *
 * response: the head; its body cannot be read. offset: where the piece begins in its body, after decoding; a
 * piece at 0 begins another body, such as that of another attempt. bytes: empty, once, at the body's end,
 * which the program is not told before. Both are valid until the piece is settled. data: what
 * watch_response was given.
 *
 * Answers as adapt does: OUTLET_PENDING holds the body up, a failure ends the request. Thread: [hook]. */
typedef outlet_status (*outlet_stream_piece)(outlet_instance *instance, outlet_call call,
                                             outlet_response response, uint64_t offset,
                                             outlet_view bytes, outlet_completion completion,
                                             void *OUTLET_OPTIONAL data);

/* Makes the next piece of a request's body.
 *
 * offset: how much of the body was made before; 0 begins the body, also once more where it has to be sent
 * again, for a redirect or an answer to a challenge. sink: takes the piece, until it is settled; nothing in
 * it is the body's end. data: what send_body was given.
 *
 * Answers as adapt does: OUTLET_PENDING holds the request up, while its answer may come; a failure
 * ends the request. Thread: [hook]. */
typedef outlet_status (*outlet_stream_make)(outlet_instance *instance, outlet_call call,
                                            uint64_t offset, outlet_sink sink,
                                            outlet_completion completion,
                                            void *OUTLET_OPTIONAL data);

/* Nothing more of a stream follows: its data may be freed.
 *
 * Exactly once, behind all of its pieces, when the call is over, or at the latest before quiesce.
 * status: OUTLET_OK when its body, or the last one of them, came to its end, OUTLET_E_CANCELLED otherwise.
 * Thread: [hook]. */
typedef void (*outlet_stream_end)(outlet_instance *instance, outlet_call call,
                                  outlet_status status, void *OUTLET_OPTIONAL data);

/* The service's table; valid as long as the host's. */
typedef struct outlet_streams {
    uint32_t struct_size; /* sizeof(outlet_streams) of the host */
    uint32_t reserved;    /* 0 */

    /* Watches the bodies of the responses to a request: all that come over the wire, those of redirects and
     * challenges included. What a cache or a plugin answers is not among them.
     *
     * OUTLET_E_STATE where the request cannot be changed, or when OUTLET_MAX_STREAMS are open.
     * Thread: [in-call]. */
    outlet_status (*watch_response)(const outlet_host *host, outlet_request request,
                                    outlet_stream_piece piece,
                                    outlet_stream_end OUTLET_OPTIONAL end,
                                    void *OUTLET_OPTIONAL data);

    /* Makes the request's body while it is sent, in place of the one that it has.
     *
     * length: how long it will be, in bytes, which it has to keep; OUTLET_LENGTH_UNKNOWN sends it
     * chunked. Such a body cannot be read by other hooks, and a signer does not see it.
     * OUTLET_E_STATE in finalize as well, and as watch_response. Thread: [in-call]. */
    outlet_status (*send_body)(const outlet_host *host, outlet_request request, uint64_t length,
                               outlet_stream_make make, outlet_stream_end OUTLET_OPTIONAL end,
                               void *OUTLET_OPTIONAL data);
} outlet_streams;

OUTLET_END_DECLARATIONS

#endif

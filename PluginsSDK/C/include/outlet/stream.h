/* outlet/stream.h - the service "outlet.stream/1": bodies piece by piece, without the whole body in
 * memory.
 *
 * A stream is opened by a hook that may change the request: adapt, prepare, or, only to watch,
 * finalize. It belongs to the call and lasts until its `end`. The host calls the plugin for one
 * piece at a time, and transfers nothing more of the body before that piece is settled. So a slow
 * plugin slows the transfer down instead of filling the memory. */
#ifndef OUTLET_STREAM_H
#define OUTLET_STREAM_H

#include "base.h"
#include "host.h"

OUTLET_BEGIN_DECLARATIONS

#define OUTLET_STREAM_1 "outlet.stream/1"

/* The maximum number of streams of one instance that are open, or whose `end` has not been called. */
#define OUTLET_MAX_STREAMS 1024

/* Receives a piece of a response's body before the program does, whether the program stores the
 * body in memory or in a file, or streams it.
 *
 * response: the head; its body cannot be read. offset: the position of the piece in the body, after
 * content decoding; a piece at 0 begins another body, such as that of another attempt. bytes: the
 * piece; empty, once, at the end of the body, which the program sees only after this call is
 * settled. Both are valid until the piece is settled. data: the pointer passed to watch_response.
 *
 * Returns the same statuses as adapt: OUTLET_PENDING delays the body, a failure fails the request. If
 * the user lets requests continue after failures, no further piece of this body follows instead, and
 * the stream does not end as complete.
 * Thread: [hook]. */
typedef outlet_status (*outlet_stream_piece)(outlet_instance *instance, outlet_call call,
                                             outlet_response response, uint64_t offset,
                                             outlet_view bytes, outlet_completion completion,
                                             void *OUTLET_OPTIONAL data);

/* Makes the next piece of a request's body.
 *
 * offset: the number of bytes made before. 0 begins the body, again if it has to be sent again for
 * a redirect or an authentication challenge. sink: receives the piece until it is settled; an empty
 * piece is the end of the body, also of one whose length is known: its last bytes are sent after
 * that.
 * data: the pointer passed to send_body.
 *
 * Returns the same statuses as adapt: OUTLET_PENDING delays the upload, while the response may
 * already arrive; a failure fails the request. Thread: [hook]. */
typedef outlet_status (*outlet_stream_make)(outlet_instance *instance, outlet_call call,
                                            uint64_t offset, outlet_sink sink,
                                            outlet_completion completion,
                                            void *OUTLET_OPTIONAL data);

/* Called when a stream has ended: free its data.
 *
 * Called exactly once, after all of its pieces, when the call has ended, at the latest before
 * quiesce.
 * status: OUTLET_OK if the body is complete, otherwise OUTLET_E_CANCELLED. If the request was sent
 * several times, as for redirects and retries, that of the last time counts.
 * Thread: [hook]. */
typedef void (*outlet_stream_end)(outlet_instance *instance, outlet_call call,
                                  outlet_status status, void *OUTLET_OPTIONAL data);

/* The table of the service; valid as long as the table of the host. */
typedef struct outlet_streams {
    uint32_t struct_size; /* sizeof(outlet_streams) of the host */
    uint32_t reserved;    /* 0 */

    /* Watches the bodies of all responses from the network to a request, including redirects and
     * authentication challenges. Responses of a cache or a plugin are not included.
     *
     * Returns OUTLET_E_STATE if the hook cannot change the request, or if there are
     * OUTLET_MAX_STREAMS, and OUTLET_E_ARGUMENT if `piece` is null. Thread: [in-call]. */
    outlet_status (*watch_response)(const outlet_host *host, outlet_request request,
                                    outlet_stream_piece piece,
                                    outlet_stream_end OUTLET_OPTIONAL end,
                                    void *OUTLET_OPTIONAL data);

    /* Replaces the request's body by one that the plugin makes while it is sent.
     *
     * length: the exact length in bytes; OUTLET_UNKNOWN_LENGTH sends the body chunked. Of a body of
     * 0 bytes no piece is made. A body of another length fails the request, and the host records
     * that as a violation. Other hooks cannot read this body, so a plugin that signs requests does
     * not see it.
     *
     * Returns OUTLET_E_STATE in the same cases as watch_response, and also in finalize, and
     * OUTLET_E_ARGUMENT if `make` is null or the length is above INT64_MAX and not
     * OUTLET_UNKNOWN_LENGTH. Thread: [in-call]. */
    outlet_status (*send_body)(const outlet_host *host, outlet_request request, uint64_t length,
                               outlet_stream_make make, outlet_stream_end OUTLET_OPTIONAL end,
                               void *OUTLET_OPTIONAL data);
} outlet_streams;

OUTLET_END_DECLARATIONS

#endif

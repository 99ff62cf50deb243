#pragma once
/// epoll and eventfd for one curl_multi handle; Swift's Glibc module has neither.
///
/// Registration is sticky: a socket that libcurl lets go of stays registered, because the next
/// request on the same connection asks for the same events again. It is taken out when an event
/// arrives that nobody wants, and forgotten when it is closed.
#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ccurl_poller ccurl_poller;

/// Makes a poller; NULL with the reason in `*error` (errno) when descriptors or memory are short.
ccurl_poller *_Nullable ccurl_poller_create(int *_Nonnull error);
/// How many sockets are open on anybody's behalf. Any thread.
int ccurl_poller_sockets(const ccurl_poller *_Nonnull poller);
/// Frees the poller. No handle may use it any more.
void ccurl_poller_destroy(ccurl_poller *_Nonnull poller);

/// Makes the poller serve `multi` (`CURLMOPT_SOCKETFUNCTION`, `CURLMOPT_TIMERFUNCTION`).
void ccurl_poller_attach(ccurl_poller *_Nonnull poller, CURLM *_Nonnull multi);
/// How many sockets are open on behalf of one owner.
typedef struct ccurl_tally {
    int sockets;
    bool is_abandoned;
} ccurl_tally;

ccurl_tally *_Nullable ccurl_tally_create(void);
/// How many sockets are open. Any thread, as long as the tally is there.
int ccurl_tally_sockets(const ccurl_tally *_Nonnull tally);
/// Lets go of a tally; it is freed when its last socket is closed.
void ccurl_tally_release(ccurl_tally *_Nullable tally);

/// Where a handle's sockets come from, and on whose account.
typedef struct ccurl_opener {
    ccurl_poller *_Nonnull poller;
    ccurl_tally *_Nullable tally;
    /// How many sockets it has opened.
    unsigned opened;
    /// Asked before a socket is opened whether it may be connected to that address.
    bool (*_Nonnull may_connect)(void *_Nonnull client, const struct sockaddr *_Nonnull address);
    void *_Nullable client;
} ccurl_opener;

/// Makes `easy` open and close its sockets through a poller (`CURLOPT_OPENSOCKETFUNCTION`,
/// `CURLOPT_CLOSESOCKETFUNCTION`), close-on-exec.
///
/// `opener` must live as long as `easy`; its tally may be changed between transfers.
void ccurl_opener_adopt(ccurl_opener *_Nonnull opener, CURL *_Nonnull easy);

/// Told that a watched socket can be read from or written to, or has failed.
typedef void (*ccurl_ready)(void *_Nonnull client);

/// Watches a socket that libcurl has handed over (`CURLOPT_CONNECT_ONLY`), until it is closed.
///
/// May be called again to watch for other things, or for nothing.
void ccurl_poller_watch(
    ccurl_poller *_Nonnull poller, int fd, bool reads, bool writes, ccurl_ready _Nonnull ready,
    void *_Nonnull client);

/// Waits for events; 0 ms looks without waiting, a negative time waits for ever.
///
/// Returns how many sockets are ready; an interruption or a wake counts as none.
int ccurl_poller_wait(ccurl_poller *_Nonnull poller, int timeout_ms);
/// Whether the kept connection that `easy` is about to use has brought something since libcurl let
/// go of it, be it its end; `port` is the connection's own (`CURLOPT_PREREQFUNCTION` tells it).
///
/// Costs no system call unless an event was seen that nobody waited for, or the socket was not
/// registered.
bool ccurl_poller_brings_uncalled(
    const ccurl_poller *_Nonnull poller, CURL *_Nonnull easy, int port);
/// Lets libcurl work on the sockets that the last wait found ready.
void ccurl_poller_dispatch(ccurl_poller *_Nonnull poller);
/// Lets libcurl work on its timer if that is due, and tells whether it was.
bool ccurl_poller_fire_timer(ccurl_poller *_Nonnull poller, int64_t now_us);
/// When libcurl's timer is due, µs of the monotonic clock; -1 when it is not set.
int64_t ccurl_poller_timer(const ccurl_poller *_Nonnull poller);
/// Ends a wait. Any thread.
void ccurl_poller_wake(ccurl_poller *_Nonnull poller);
/// Waits until it is unparked; sockets do not end this wait, and nobody looks at them.
void ccurl_poller_park(ccurl_poller *_Nonnull poller);
/// Ends a park, or the next one at once. Any thread.
void ccurl_poller_unpark(ccurl_poller *_Nonnull poller);

/// errno of the last socket that could not be opened for want of descriptors or memory, and
/// forgets it; 0 when none failed.
int ccurl_poller_take_socket_error(ccurl_poller *_Nonnull poller);

/// Names the calling thread and blocks all signals in it: they are for the program's own threads.
void ccurl_prepare_thread(const char *_Nonnull name);
/// Makes the calling thread the one that runs `loop`, whose address alone counts, or, given NULL, that
/// runs none.
///
/// Returns what it ran before, to be entered again afterwards.
const void *_Nullable ccurl_enter_loop(const void *_Nullable loop);
/// Whether the calling thread is the one that runs `loop`.
bool ccurl_is_loop(const void *_Nonnull loop);

/// The monotonic clock, µs.
int64_t ccurl_now_us(void);

#pragma once
/// epoll and eventfd for one curl_multi handle; Swift's Glibc module has neither.
///
/// Sockets stay registered with epoll after libcurl has removed them, because the next request on
/// the same connection needs the same events. A socket is unregistered when an event arrives that
/// is not wanted. Closing a socket unregisters it as well.
#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ccurl_poller ccurl_poller;

/// Makes a poller. Returns NULL, and errno in `*error`, if descriptors or memory are exhausted.
ccurl_poller *_Nullable ccurl_poller_create(int *_Nonnull error);
/// Returns the number of open sockets that are counted in a tally. Thread: any.
int ccurl_poller_sockets(const ccurl_poller *_Nonnull poller);
/// Frees the poller. No handle may use it afterwards.
void ccurl_poller_destroy(ccurl_poller *_Nonnull poller);

/// Called when libcurl reads no more from a socket, while uploads wait
/// (`ccurl_poller_begin_upload_wait`): the response has ended, or the connection. `client` is the handle's
/// `CURLOPT_PRIVATE`. Runs within libcurl's callbacks.
///
/// If it returns true, the upload of the handle waits; it is called once more, with `has_ended`, when the
/// peer ends the connection before libcurl uses it again.
typedef bool (*ccurl_stopped)(void *_Nonnull client, int fd, bool has_ended);

/// Connects the poller to `multi` (`CURLMOPT_SOCKETFUNCTION`, `CURLMOPT_TIMERFUNCTION`).
void ccurl_poller_attach(
    ccurl_poller *_Nonnull poller, CURLM *_Nonnull multi, ccurl_stopped _Nonnull stopped);
/// Records that libcurl's sending is paused for an upload until there are more bytes.
void ccurl_poller_begin_upload_wait(ccurl_poller *_Nonnull poller);
/// Records that an upload waits no more. `fd` is the socket for which `ccurl_stopped` has returned true
/// with `client`; -1 for none.
void ccurl_poller_end_upload_wait(
    ccurl_poller *_Nonnull poller, int fd, const void *_Nullable client);
/// The number of open sockets of one origin.
typedef struct ccurl_tally {
    int sockets;
    bool is_abandoned;
} ccurl_tally;

/// Makes a tally; NULL if memory cannot be allocated.
ccurl_tally *_Nullable ccurl_tally_create(void);
/// Returns the number of open sockets. Thread: any, while the tally exists.
int ccurl_tally_sockets(const ccurl_tally *_Nonnull tally);
/// Releases a tally; it is freed when its last socket is closed.
void ccurl_tally_release(ccurl_tally *_Nullable tally);

/// The state of the socket callbacks of one handle.
typedef struct ccurl_opener {
    ccurl_poller *_Nonnull poller;
    ccurl_tally *_Nullable tally;
    /// How many sockets the handle has opened in its lifetime.
    unsigned opened;
    /// The errno of a socket that could not be opened because descriptors or memory were exhausted; 0 if
    /// there was none since the last one that was opened.
    int error;
    /// Called before a socket is opened. Returns whether it may connect to the address.
    bool (*_Nonnull may_connect)(void *_Nonnull client, const struct sockaddr *_Nonnull address);
    void *_Nullable client;
} ccurl_opener;

/// Sets the callbacks of `easy` that open and close sockets (`CURLOPT_OPENSOCKETFUNCTION`,
/// `CURLOPT_CLOSESOCKETFUNCTION`). Sockets are close-on-exec.
///
/// `opener` must live as long as `easy`. Its tally and error may be changed between transfers.
void ccurl_opener_adopt(ccurl_opener *_Nonnull opener, CURL *_Nonnull easy);

/// Called when a watched socket is readable, writable or has failed.
typedef void (*ccurl_ready)(void *_Nonnull client);

/// Watches a socket that libcurl has connected for the caller (`CURLOPT_CONNECT_ONLY`), until it is
/// closed.
///
/// May be called again with other values; with neither `reads` nor `writes` it stops watching.
void ccurl_poller_watch(
    ccurl_poller *_Nonnull poller, int fd, bool reads, bool writes, ccurl_ready _Nonnull ready,
    void *_Nonnull client);

/// Waits for events for at most `timeout_ms` and 10 s; 0 does not wait, a negative value waits for
/// 10 s.
///
/// Makes descriptors of its own again that another part of the process has closed. Returns the number
/// of ready sockets; 0 after a signal or a wake; -1 if it cannot wait, with the reason in `errno`.
int ccurl_poller_wait(ccurl_poller *_Nonnull poller, int timeout_ms);
/// Whether there is data to read on the connection with a local port, or the peer has closed it; closed with
/// at most `before_end` unread bytes does not count, -1 for always. A connection without a port, to a Unix
/// socket, cannot be told from others: whether that is so for one of those that no transfer waits for, or
/// the one that libcurl is being called for.
bool ccurl_poller_brings_uncalled(ccurl_poller *_Nonnull poller, int port, int before_end);
/// Shuts the connections down, in both directions, that have a local port and no running transfer;
/// libcurl then uses them for none.
void ccurl_poller_end_idle(ccurl_poller *_Nonnull poller, int port);
/// Calls libcurl, or the watcher, for each socket that the last wait found ready.
void ccurl_poller_dispatch(ccurl_poller *_Nonnull poller);
/// Calls libcurl if its timer is due, and returns whether it was.
bool ccurl_poller_fire_timer(ccurl_poller *_Nonnull poller, int64_t now_us);
/// Returns when libcurl's timer is due, in µs of the monotonic clock; -1 if it is not set.
int64_t ccurl_poller_timer(const ccurl_poller *_Nonnull poller);
/// Ends the current wait, or the next one. Thread: any.
void ccurl_poller_wake(ccurl_poller *_Nonnull poller);
/// Waits for `ccurl_poller_unpark`, for at most `us` of the real-time clock, or without a limit if
/// that is negative.
/// Sockets do not end this wait, and are not polled meanwhile. Returns false if the time is over.
bool ccurl_poller_park(ccurl_poller *_Nonnull poller, int64_t us);
/// Ends the current park, or the next one. Thread: any.
void ccurl_poller_unpark(ccurl_poller *_Nonnull poller);

/// Makes the timer of the functions below. Returns false if descriptors are exhausted.
bool ccurl_poller_make_relief(ccurl_poller *_Nonnull poller);
/// Ends the current `ccurl_poller_await_relief`, or the next one, after `us`, which must not be 0.
/// Returns false if that is not possible, because the descriptor was closed.
bool ccurl_poller_set_relief(ccurl_poller *_Nonnull poller, int64_t us);
/// Waits for the time that `ccurl_poller_set_relief` sets. Returns false if it cannot wait.
bool ccurl_poller_await_relief(ccurl_poller *_Nonnull poller);

/// Makes 8 MiB of free memory in the calling thread's arena that the allocator keeps; of that, only
/// what was used, and 344 KiB for the allocator's headers, occupy physical memory.
///
/// libcurl allocates a buffer of 16 KiB for each transfer, and one of 64 KiB for each upload. Without
/// the reserve, glibc gives the memory at the arena's top back to the system as soon as 128 KiB are
/// free, which takes page faults: nearly half of the CPU time of an upload of 64 KiB
/// (`Benchmarks/tricks reserve-memory`).
///
/// Returns memory to free when the thread needs the reserve no more; NULL if there is none.
void *_Nullable ccurl_reserve_memory(void);
/// Records that the calling thread runs `loop`, of which only the address is used; NULL for none.
///
/// Returns the previous value, which the caller restores later.
const void *_Nullable ccurl_enter_loop(const void *_Nullable loop);
/// Whether the calling thread runs `loop`.
bool ccurl_is_loop(const void *_Nonnull loop);

/// Returns the monotonic clock in µs.
int64_t ccurl_now_us(void);

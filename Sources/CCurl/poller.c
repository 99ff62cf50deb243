#define _GNU_SOURCE
#include "ccurl_poller.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { max_events = 256, port_buckets = 1024, max_paused = 64, pause_ms = 10 };

/// The state of one file descriptor.
struct slot {
    uint32_t wanted;  // the events that libcurl or the watcher wants
    uint32_t armed;   // the events registered with epoll; 0 if not registered
    bool ours;        // opened by open_socket, so close_socket is called for it
    bool dirty;       // listed in `dirty` below
    bool refused;     // the kernel has no memory to register it
    bool listed;      // in one of the lists `by_port` or `unsorted` below
    bool paused;      // not watched for EPOLLOUT as usual for a while: see `pause_output`
    bool is_unix;     // a Unix socket
    uint8_t writable; // how often it was writable, but not readable, since `written` was read
    int port;         // the local port if it is listed: 0 for a Unix socket, -1 if it is not known yet
    int next;         // the next in its list; -1 at the end
    uint64_t written; // the bytes written to it until then
    ccurl_tally *tally;
    ccurl_ready ready;  // set if it is watched by ccurl_poller_watch, not by libcurl
    void *client;
    void *sender;  // the client of an upload that waits, which libcurl has stopped reading for
};

struct ccurl_poller {
    // Other threads read both to wake the loop.
    int epoll;
    int event;
    int relief;  // a timerfd; -1 if it was not made
    sem_t unpark;
    CURLM *multi;
    struct slot *slots;
    size_t slot_count;
    int *dirty;
    size_t dirty_count, dirty_capacity;
    int64_t timer_us;
    int by_port[port_buckets];  // libcurl's own sockets by local port, the first of each list; or -1
    int unsorted;               // the same of those whose port is not known yet
    int dispatched;             // the socket that libcurl is being called for; -1 for none
    int sockets;  // open sockets with a tally
    int paused[max_paused];  // descriptors that `pause_output` was called for
    int paused_count;
    int64_t pause_end;  // when they are watched for EPOLLOUT again, in µs
    int waiting_uploads;
    ccurl_stopped stopped;
    int ready;
    struct epoll_event events[max_events];
};

int64_t ccurl_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void *ccurl_reserve_memory(void) {
    enum { block_size = 96 * 1024, block_count = 86 };
    void *blocks[block_count];
    for (int i = 0; i < block_count; i++) blocks[i] = malloc(block_size);
    // Above the blocks, so that they do not become part of the arena's top, which is given back.
    void *fence = malloc(4096);
    // The compiler may otherwise remove a malloc whose memory is only freed.
    __asm__ volatile("" : : "r"(blocks), "r"(fence) : "memory");
    for (int i = 0; i < block_count; i++) free(blocks[i]);
    return fence;
}

static _Thread_local const void *current;

const void *ccurl_enter_loop(const void *loop) {
    const void *before = current;
    current = loop;
    return before;
}

bool ccurl_is_loop(const void *loop) { return current == loop; }

/// The user data of an event; the upper half distinguishes pollers, because another part of the
/// process may have replaced `epoll` by a descriptor with events of its own.
static epoll_data_t data_of(const ccurl_poller *poller, int fd) {
    uint64_t number = (uint32_t)((uintptr_t)poller >> 4);
    return (epoll_data_t){.u64 = number << 32 | (uint32_t)fd};
}

static int number_of(const int *descriptor) { return __atomic_load_n(descriptor, __ATOMIC_ACQUIRE); }

/// Adds the eventfd to epoll (EPOLL_CTL_ADD), or registers it anew (EPOLL_CTL_MOD); each wakes the
/// poller once, because the eventfd is always readable.
static bool listen_to(const ccurl_poller *poller, int event, int how) {
    struct epoll_event wake = {.events = EPOLLIN | EPOLLET, .data = data_of(poller, -1)};
    return epoll_ctl(number_of(&poller->epoll), how, event, &wake) == 0;
}

/// Makes an eventfd that wakes the poller, at once and later. Returns -1 if that is not possible.
static int open_event(ccurl_poller *poller) {
    int event = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0 || listen_to(poller, event, EPOLL_CTL_ADD)) return event;
    int error = errno;
    close(event);
    errno = error;
    return -1;
}

/// Whether a descriptor is an eventfd.
static bool is_eventfd(int fd) {
    char path[32], kind[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, kind, sizeof kind);
    static const char name[] = "anon_inode:[eventfd]";
    return length == sizeof name - 1 && memcmp(kind, name, sizeof name - 1) == 0;
}

ccurl_poller *ccurl_poller_create(int *error) {
    ccurl_poller *poller = calloc(1, sizeof *poller);
    if (!poller) {
        *error = ENOMEM;
        return NULL;
    }
    poller->timer_us = -1;
    poller->relief = -1;
    poller->unsorted = poller->dispatched = -1;
    for (size_t index = 0; index < port_buckets; index++) poller->by_port[index] = -1;
    sem_init(&poller->unpark, 0, 0);
    poller->epoll = epoll_create1(EPOLL_CLOEXEC);
    poller->event = poller->epoll < 0 ? -1 : open_event(poller);
    if (poller->event < 0) {
        *error = errno;
        ccurl_poller_destroy(poller);
        return NULL;
    }
    *error = 0;
    return poller;
}

/// Changes a number that only this thread changes and other threads may read.
static int change(int *number, int by) {
    int changed = *number + by;
    __atomic_store_n(number, changed, __ATOMIC_RELAXED);
    return changed;
}

int ccurl_tally_sockets(const ccurl_tally *tally) {
    return __atomic_load_n(&tally->sockets, __ATOMIC_RELAXED);
}

int ccurl_poller_sockets(const ccurl_poller *poller) {
    return __atomic_load_n(&poller->sockets, __ATOMIC_RELAXED);
}

/// Removes a closed socket from its tally.
static void settle(ccurl_poller *poller, struct slot *slot) {
    ccurl_tally *tally = slot->tally;
    slot->tally = NULL;
    if (!tally) return;
    change(&poller->sockets, -1);
    if (change(&tally->sockets, -1) == 0 && tally->is_abandoned) free(tally);
}

void ccurl_poller_destroy(ccurl_poller *poller) {
    for (size_t fd = 0; fd < poller->slot_count; fd++) settle(poller, &poller->slots[fd]);
    if (poller->event >= 0) close(poller->event);
    if (poller->epoll >= 0) close(poller->epoll);
    if (poller->relief >= 0) close(poller->relief);
    free(poller->slots);
    sem_destroy(&poller->unpark);
    free(poller->dirty);
    free(poller);
}

/// Returns the slot of a descriptor; NULL for a negative one, or if memory cannot be allocated.
static struct slot *slot_of(ccurl_poller *poller, int fd) {
    if (fd < 0) return NULL;
    if ((size_t)fd >= poller->slot_count) {
        size_t count = poller->slot_count ? poller->slot_count : 64;
        while (count <= (size_t)fd) count *= 2;
        struct slot *slots = realloc(poller->slots, count * sizeof *slots);
        if (!slots) return NULL;
        memset(slots + poller->slot_count, 0, (count - poller->slot_count) * sizeof *slots);
        poller->slots = slots;
        poller->slot_count = count;
    }
    return &poller->slots[fd];
}

static void take_out(ccurl_poller *poller, int fd, struct slot *slot) {
    if (slot->armed) epoll_ctl(poller->epoll, EPOLL_CTL_DEL, fd, NULL);
    slot->armed = 0;
}

/// Returns the local port of a socket; 0 for a Unix socket, -1 if it has none yet, -2 if it was closed.
static int local_port(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage storage;
    } address;
    socklen_t size = sizeof address;
    if (getsockname(fd, &address.any, &size) < 0) return -2;
    int port = address.any.sa_family == AF_INET    ? ntohs(address.v4.sin_port)
               : address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port)
                                                   : 0;
    return port == 0 && address.any.sa_family != AF_UNIX ? -1 : port;
}

/// Returns the first socket in the list of a local port and of others, or of those with an unknown one.
static int *list_of(ccurl_poller *poller, int port) {
    return port < 0 ? &poller->unsorted : &poller->by_port[port % port_buckets];
}

static void list(ccurl_poller *poller, int fd, int port) {
    struct slot *slot = &poller->slots[fd];
    slot->listed = true;
    slot->port = port;
    int *first = list_of(poller, port);
    slot->next = *first;
    *first = fd;
}

static void unlist(ccurl_poller *poller, int fd) {
    struct slot *slot = &poller->slots[fd];
    if (!slot->listed) return;
    slot->listed = false;
    int *place = list_of(poller, slot->port);
    while (*place != fd) place = &poller->slots[*place].next;
    *place = slot->next;
}

/// Finds out the ports of the sockets that were opened since the last call.
static void sort(ccurl_poller *poller) {
    int fd = poller->unsorted;
    poller->unsorted = -1;
    while (fd >= 0) {
        struct slot *slot = &poller->slots[fd];
        int next = slot->next, port = local_port(fd);
        slot->listed = false;
        if (port >= -1) list(poller, fd, port);
        fd = next;
    }
}

/// Sets the events that a socket is watched for.
static int want(ccurl_poller *poller, int fd, struct slot *slot, uint32_t events) {
    slot->wanted = events;
    slot->paused = false;
    if (!slot->wanted) {
        // The resolver closes its own sockets without a callback, so they must not stay registered.
        if (!slot->ours) take_out(poller, fd, slot);
        return 0;
    }
    if (slot->wanted == slot->armed || slot->dirty) return 0;
    if (poller->dirty_count == poller->dirty_capacity) {
        size_t capacity = poller->dirty_capacity ? poller->dirty_capacity * 2 : 64;
        int *dirty = realloc(poller->dirty, capacity * sizeof *dirty);
        if (!dirty) return -1;
        poller->dirty = dirty;
        poller->dirty_capacity = capacity;
    }
    poller->dirty[poller->dirty_count++] = fd;
    slot->dirty = true;
    return 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *client, void *unused) {
    (void)unused;
    ccurl_poller *poller = client;
    struct slot *slot = slot_of(poller, fd);
    if (!slot) return -1;
    if (slot->ready) return 0;  // watched: ignore that libcurl removes it on close
    uint32_t events = what == CURL_POLL_REMOVE ? 0
                                               : (what & CURL_POLL_IN ? EPOLLIN : 0) |
                                                     (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    slot->sender = NULL;
    if (what == CURL_POLL_REMOVE && poller->waiting_uploads > 0) {
        void *sender = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &sender);
        if (sender && poller->stopped(sender, fd, false)) {
            slot->sender = sender;
            events = EPOLLRDHUP;
        }
    }
    return want(poller, fd, slot, events);
}

void ccurl_poller_begin_upload_wait(ccurl_poller *poller) { poller->waiting_uploads++; }

void ccurl_poller_end_upload_wait(ccurl_poller *poller, int fd, const void *client) {
    poller->waiting_uploads--;
    struct slot *slot = slot_of(poller, fd);
    if (!slot || slot->sender != client) return;
    slot->sender = NULL;
    want(poller, fd, slot, 0);
}

void ccurl_poller_watch(
    ccurl_poller *poller, int fd, bool reads, bool writes, ccurl_ready ready, void *client) {
    struct slot *slot = slot_of(poller, fd);
    if (!slot) return;
    slot->ready = ready;
    slot->client = client;
    want(poller, fd, slot, (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0));
}

static int on_timer(CURLM *multi, long timeout_ms, void *client) {
    (void)multi;
    ccurl_poller *poller = client;
    poller->timer_us = timeout_ms < 0 ? -1
                     : timeout_ms == 0 ? 0
                                       : ccurl_now_us() + (int64_t)timeout_ms * 1000;
    return 0;
}

static curl_socket_t open_socket(void *client, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    ccurl_opener *opener = client;
    ccurl_poller *poller = opener->poller;
    // libcurl then tries the next address of the host.
    if (!opener->may_connect(opener->client, &address->addr)) return CURL_SOCKET_BAD;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0) {
        // Only exhausted resources are reported: without IPv6 this fails for every IPv6 address.
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            opener->error = errno;
        return CURL_SOCKET_BAD;
    }
    struct slot *slot = slot_of(poller, fd);
    opener->opened++;
    opener->error = 0;
    if (slot) {
        slot->wanted = slot->armed = 0;
        unlist(poller, fd);
        list(poller, fd, -1);
        slot->ours = true;
        slot->paused = false;
        slot->is_unix = address->family == AF_UNIX;
        slot->writable = 0;
        slot->written = 0;
        slot->ready = NULL;
        slot->sender = NULL;
        // libcurl closes a socket that was never connected without calling close_socket. The new
        // socket has its number, so the slot may still have its tally.
        settle(poller, slot);
        slot->tally = opener->tally;
        if (slot->tally) {
            change(&slot->tally->sockets, 1);
            change(&poller->sockets, 1);
        }
    }
    return fd;
}

static int close_socket(void *client, curl_socket_t fd) {
    ccurl_poller *poller = client;
    struct slot *slot = slot_of(poller, fd);
    if (slot) {
        slot->wanted = slot->armed = 0;  // closing a descriptor unregisters it
        unlist(poller, fd);
        slot->ours = slot->paused = false;
        slot->ready = NULL;
        slot->sender = NULL;
        settle(poller, slot);
    }
    return close(fd);
}

void ccurl_poller_attach(ccurl_poller *poller, CURLM *multi, ccurl_stopped stopped) {
    poller->multi = multi;
    poller->stopped = stopped;
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, poller);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, poller);
}

void ccurl_opener_adopt(ccurl_opener *opener, CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, opener);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    // The connection keeps this pointer and may outlive the handle.
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, opener->poller);
}

ccurl_tally *ccurl_tally_create(void) { return calloc(1, sizeof(ccurl_tally)); }

void ccurl_tally_release(ccurl_tally *tally) {
    if (!tally) return;
    if (tally->sockets == 0)
        free(tally);
    else
        tally->is_abandoned = true;
}

/// Registers the events that a socket is watched for. Returns 0 or the error.
static int arm(const ccurl_poller *poller, int fd, const struct slot *slot) {
    struct epoll_event event = {.events = slot->wanted, .data = data_of(poller, fd)};
    int expected = slot->armed ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(poller->epoll, expected, fd, &event) == 0) return 0;
    // The descriptor was closed, or opened again, without a callback.
    int other = errno == ENOENT ? EPOLL_CTL_ADD : errno == EEXIST ? EPOLL_CTL_MOD : 0;
    if (!other) return errno;
    return epoll_ctl(poller->epoll, other, fd, &event) == 0 ? 0 : errno;
}

/// Registers with epoll the events that were requested since the last wait.
///
/// Returns the number of sockets that could not be registered; they are the first in `dirty`.
static size_t flush(ccurl_poller *poller) {
    size_t failed = 0;
    for (size_t index = 0; index < poller->dirty_count; index++) {
        int fd = poller->dirty[index];
        struct slot *slot = &poller->slots[fd];
        slot->dirty = false;
        if (!slot->wanted || slot->wanted == slot->armed) continue;
        int error = arm(poller, fd, slot);
        slot->armed = error ? 0 : slot->wanted;
        slot->refused = error == ENOSPC || error == ENOMEM;
        if (error) poller->dirty[failed++] = fd;
    }
    poller->dirty_count = 0;
    return failed;
}

/// Returns the longest wait, in ms, if the first `failed` sockets in `dirty` could not be registered.
static int longest_wait(const ccurl_poller *poller, size_t failed) {
    // The loop must notice that both descriptors were closed while it waits.
    enum { usual_ms = 10000, polling_ms = 5 };
    for (size_t index = 0; index < failed; index++)
        if (!poller->slots[poller->dirty[index]].refused) return 0;
    return failed ? polling_ms : usual_ms;
}

/// Makes the sockets ready that could not be registered, the first `failed` in `dirty`.
static void ready_failed(ccurl_poller *poller, size_t failed, bool has_waited) {
    for (size_t index = 0; index < failed; index++) {
        int fd = poller->dirty[index];
        struct slot *slot = &poller->slots[fd];
        // Those that the kernel refuses are polled instead. libcurl finds out what is wrong with the
        // others.
        bool has_place = poller->ready < max_events;
        if (has_place && (has_waited || !slot->refused))
            poller->events[poller->ready++] = (struct epoll_event){
                .events = slot->refused ? slot->wanted : EPOLLERR, .data = data_of(poller, fd)};
        if (has_place && !slot->refused) continue;
        slot->dirty = true;
        poller->dirty[poller->dirty_count++] = fd;
    }
}

/// Replaces `epoll`, which another part of the process has closed.
///
/// Returns false if that is not possible.
static bool reopen(ccurl_poller *poller) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) return false;
    // The old one is not closed: its number may have another owner.
    __atomic_store_n(&poller->epoll, epoll, __ATOMIC_RELEASE);
    int event = number_of(&poller->event);
    if (!is_eventfd(event) || !listen_to(poller, event, EPOLL_CTL_ADD)) {
        // It was closed, too.
        event = open_event(poller);
        if (event < 0) {
            // The next wait tries again.
            __atomic_store_n(&poller->epoll, -1, __ATOMIC_RELEASE);
            close(epoll);
            return false;
        }
        __atomic_store_n(&poller->event, event, __ATOMIC_RELEASE);
    }
    poller->dirty_count = 0;
    for (size_t fd = 0; fd < poller->slot_count; fd++) {
        struct slot *slot = &poller->slots[fd];
        slot->armed = 0;
        slot->dirty = false;
        if (slot->wanted) want(poller, (int)fd, slot, slot->wanted);
    }
    return true;
}

/// Watches a socket without EPOLLOUT until it becomes readable, but for at most `pause_ms`: libcurl has
/// nothing that it may send.
///
/// libcurl 7.88 waits until a socket is writable also while an upload over HTTP/2 waits for the server's
/// window, and without this would be called without end.
///
/// The kernel does not tell how much was written to a Unix socket, so that libcurl may be sending. But
/// with EPOLLET it reports such a socket each time that the peer has read from it.
static void pause_output(ccurl_poller *poller, int fd, struct slot *slot) {
    if (poller->paused_count == max_paused) return;
    uint32_t events = slot->is_unix ? slot->wanted | EPOLLET : slot->wanted & ~EPOLLOUT;
    struct epoll_event event = {.events = events, .data = data_of(poller, fd)};
    if (epoll_ctl(poller->epoll, EPOLL_CTL_MOD, fd, &event) < 0) return;
    slot->armed = event.events;
    slot->paused = true;
    if (poller->paused_count == 0) poller->pause_end = ccurl_now_us() + pause_ms * 1000;
    poller->paused[poller->paused_count++] = fd;
}

/// Watches a socket for all events again.
static void resume_output(ccurl_poller *poller, int fd) {
    struct slot *slot = &poller->slots[fd];
    if (slot->paused) want(poller, fd, slot, slot->wanted);
}

/// Watches all sockets for all events again if it is time. Returns the longest wait until then, in ms.
static int resume_due(ccurl_poller *poller) {
    int64_t left = poller->pause_end - ccurl_now_us();
    if (left > 0) return (int)(left / 1000) + 1;
    for (int index = 0; index < poller->paused_count; index++) resume_output(poller, poller->paused[index]);
    poller->paused_count = 0;
    return INT_MAX;
}

int ccurl_poller_wait(ccurl_poller *poller, int timeout_ms) {
    poller->ready = 0;
    int left_ms = poller->paused_count > 0 ? resume_due(poller) : INT_MAX;
    size_t failed = flush(poller);
    int limit_ms = longest_wait(poller, failed);
    if (left_ms < limit_ms) limit_ms = left_ms;
    if (timeout_ms < 0 || timeout_ms > limit_ms) timeout_ms = limit_ms;
    int count = epoll_wait(poller->epoll, poller->events, max_events, timeout_ms);
    bool is_lost = count < 0 && errno != EINTR;
    uint32_t number = data_of(poller, 0).u64 >> 32;
    for (int index = 0; index < count; index++) {
        int fd = poller->events[index].data.fd;
        if (poller->events[index].data.u64 >> 32 != number) {
            is_lost = true;
            continue;
        }
        if (fd < 0) continue;
        struct slot *slot = &poller->slots[fd];
        if (!slot->wanted) {
            // The server has closed an idle connection or sent data on it; or the socket belongs to
            // a paused transfer.
            take_out(poller, fd, slot);
            continue;
        }
        poller->events[poller->ready++] = poller->events[index];
    }
    if (!is_lost) {
        ready_failed(poller, failed, timeout_ms > 0);
        return poller->ready;
    }
    if (reopen(poller)) return poller->ready;
    int error = errno;
    // The caller may try again at once.
    poll(NULL, 0, timeout_ms < 100 ? timeout_ms : 100);
    errno = error;
    return -1;
}

/// Whether one of `count` sockets has received data, or was closed by the peer; a closed one with at most
/// `before_end` unread bytes does not count.
static bool brings(const struct pollfd *sockets, nfds_t count, int before_end) {
    for (nfds_t index = 0; index < count; index++) {
        short seen = sockets[index].revents & ~POLLNVAL;
        int unread = 0;
        if (!seen) continue;
        if (!(seen & POLLRDHUP) || ioctl(sockets[index].fd, FIONREAD, &unread) < 0) return true;
        if (unread > before_end) return true;
    }
    return false;
}

bool ccurl_poller_brings_uncalled(ccurl_poller *poller, int port, int before_end) {
    enum { batch = 64 };
    struct pollfd sockets[batch];
    nfds_t count = 0;
    if (port < 0) return false;
    sort(poller);
    int next;
    for (int fd = *list_of(poller, port); fd >= 0; fd = next) {
        const struct slot *slot = &poller->slots[fd];
        next = slot->next;
        // All sockets without ports are alike, so those that a transfer waits for do not count, but that of
        // the call of libcurl in which this is asked.
        bool may_be_it = port > 0 || !slot->wanted || fd == poller->dispatched;
        bool counts = slot->port == port && !slot->ready && may_be_it;
        if (counts) sockets[count++] = (struct pollfd){.fd = fd, .events = POLLIN | POLLRDHUP};
        if (count < batch && next >= 0) continue;
        if (count > 0 && poll(sockets, count, 0) > 0 && brings(sockets, count, before_end)) return true;
        count = 0;
    }
    return false;
}

void ccurl_poller_end_idle(ccurl_poller *poller, int port) {
    if (port <= 0) return;
    sort(poller);
    for (int fd = *list_of(poller, port); fd >= 0; fd = poller->slots[fd].next) {
        const struct slot *slot = &poller->slots[fd];
        if (!slot->wanted && !slot->ready && local_port(fd) == port) shutdown(fd, SHUT_RDWR);
    }
}

/// Returns how many bytes were written to a TCP socket; `before` if the kernel does not tell.
static uint64_t bytes_written(int fd, uint64_t before) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return before;
    if (size < offsetof(struct tcp_info, tcpi_bytes_sent) + sizeof info.tcpi_bytes_sent) return before;
    return info.tcpi_bytes_sent + info.tcpi_notsent_bytes;
}

/// Whether no bytes were written to a socket since the last call, as far as the kernel tells.
static bool is_unwritten(int fd, struct slot *slot) {
    if (slot->is_unix) return true;
    uint64_t before = slot->written;
    slot->written = bytes_written(fd, before);
    return slot->written == before && before > 0;
}

/// Records that libcurl was called for a socket, and stops watching it for EPOLLOUT for a while if it was
/// writable often without bytes being written.
static void note_call(ccurl_poller *poller, int fd, uint32_t events) {
    enum { often = 16 };
    struct slot *slot = &poller->slots[fd];
    if (events != EPOLLOUT) {
        slot->writable = 0;
        resume_output(poller, fd);
        return;
    }
    if (slot->paused || ++slot->writable < often) return;
    bool is_idle = is_unwritten(fd, slot);
    // After a pause, the next time counts as often.
    slot->writable = is_idle ? often - 1 : 0;
    if (is_idle && slot->armed & slot->wanted & EPOLLOUT && !slot->dirty) pause_output(poller, fd, slot);
}

void ccurl_poller_dispatch(ccurl_poller *poller) {
    int running;
    for (int index = 0; index < poller->ready; index++) {
        uint32_t events = poller->events[index].events;
        int fd = poller->events[index].data.fd;
        // A previous call in this loop may have closed the socket, or may not want it any more.
        struct slot slot = poller->slots[fd];
        if (!slot.wanted) continue;
        if (slot.ready) {
            slot.ready(slot.client);
            continue;
        }
        if (slot.sender) {
            poller->slots[fd].sender = NULL;
            want(poller, fd, &poller->slots[fd], 0);
            poller->stopped(slot.sender, fd, true);
            continue;
        }
        int mask = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        poller->dispatched = fd;
        curl_multi_socket_action(poller->multi, fd, mask, &running);
        poller->dispatched = -1;
        note_call(poller, fd, events);
    }
    poller->ready = 0;
}

bool ccurl_poller_fire_timer(ccurl_poller *poller, int64_t now_us) {
    int running;
    if (poller->timer_us < 0 || poller->timer_us > now_us) return false;
    poller->timer_us = -1;
    curl_multi_socket_action(poller->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    return true;
}

int64_t ccurl_poller_timer(const ccurl_poller *poller) { return poller->timer_us; }

void ccurl_poller_wake(ccurl_poller *poller) {
    int event = number_of(&poller->event);
    // Not by writing to the eventfd: if another part of the process has closed it, its number may have
    // another owner, whose file would be changed. epoll refuses a file that it does not know.
    if (listen_to(poller, event, EPOLL_CTL_MOD)) return;
    // One of the two was closed. A thread that waits still waits for the eventfd if it was the epoll
    // descriptor. If the counter is full, the poller wakes as well.
    uint64_t one = 1;
    if (is_eventfd(event) && (write(event, &one, sizeof one) >= 0 || errno == EAGAIN)) return;
    // A new one wakes at once. Without one, the wait ends at its time limit.
    int new = open_event(poller);
    if (new < 0) return;
    bool is_first = __atomic_compare_exchange_n(
        &poller->event, &event, new, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    // Otherwise another thread has replaced it, and its new one wakes.
    if (!is_first) close(new);
}

bool ccurl_poller_park(ccurl_poller *poller, int64_t us) {
    struct timespec end = {0};
    if (us >= 0) {
        // For sem_timedwait(), because the thread sanitizer does not know sem_clockwait().
        clock_gettime(CLOCK_REALTIME, &end);
        int64_t ns = end.tv_nsec + us % 1000000 * 1000;
        end.tv_sec += us / 1000000 + ns / 1000000000;
        end.tv_nsec = ns % 1000000000;
    }
    for (;;) {
        int result =
            us < 0 ? sem_wait(&poller->unpark) : sem_timedwait(&poller->unpark, &end);
        if (result == 0) return true;
        if (errno != EINTR) return false;
    }
}

void ccurl_poller_unpark(ccurl_poller *poller) { sem_post(&poller->unpark); }

bool ccurl_poller_make_relief(ccurl_poller *poller) {
    if (poller->relief < 0) poller->relief = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    return poller->relief >= 0;
}

bool ccurl_poller_set_relief(ccurl_poller *poller, int64_t us) {
    struct itimerspec time = {
        .it_value = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}};
    return timerfd_settime(poller->relief, 0, &time, NULL) == 0;
}

bool ccurl_poller_await_relief(ccurl_poller *poller) {
    uint64_t expirations;
    ssize_t length;
    do length = read(poller->relief, &expirations, sizeof expirations);
    while (length < 0 && errno == EINTR);
    return length > 0;
}


#define _GNU_SOURCE
#include "ccurl_poller.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { max_events = 256, port_buckets = 1024 };

/// What is known of one file descriptor.
struct slot {
    uint32_t wanted;  // by libcurl, now
    uint32_t armed;   // in the kernel's table; 0 when not registered
    bool ours;        // opened through open_socket, so its close is seen as well
    bool dirty;       // listed in `dirty`
    bool suspect;     // let go of by libcurl, and it may have brought something since
    uint16_t port;    // its own, if it is suspect; 0 for none
    ccurl_tally *tally;
    ccurl_ready ready;  // who watches it in libcurl's place
    void *client;
};

struct ccurl_poller {
    int epoll;
    int event;
    sem_t unpark;
    CURLM *multi;
    struct slot *slots;
    size_t slot_count;
    int *dirty;
    size_t dirty_count, dirty_capacity;
    int64_t timer_us;
    int suspects;                      // so many slots are
    uint16_t suspect_ports[port_buckets];  // how many by port
    int sockets;  // open, and on somebody's account
    int socket_error;
    int ready;
    struct epoll_event events[max_events];
};

int64_t ccurl_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void ccurl_prepare_thread(const char *name) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_setname_np(pthread_self(), name);
    // It serves everybody, but may have been started by a thread with a lower priority than the
    // program's: libdispatch has such. Without the right to raise it, it stays.
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, (id_t)getpid()));
}

static _Thread_local const void *current;

const void *ccurl_enter_loop(const void *loop) {
    const void *before = current;
    current = loop;
    return before;
}

bool ccurl_is_loop(const void *loop) { return current == loop; }

ccurl_poller *ccurl_poller_create(int *error) {
    ccurl_poller *poller = calloc(1, sizeof *poller);
    if (!poller) {
        *error = ENOMEM;
        return NULL;
    }
    poller->timer_us = -1;
    sem_init(&poller->unpark, 0, 0);
    poller->epoll = epoll_create1(EPOLL_CLOEXEC);
    poller->event = poller->epoll < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    // Every write is an edge, so that nobody has to read the counter down.
    struct epoll_event wake = {.events = EPOLLIN | EPOLLET, .data.fd = -1};
    if (poller->event < 0 || epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->event, &wake) < 0) {
        *error = errno;
        ccurl_poller_destroy(poller);
        return NULL;
    }
    *error = 0;
    return poller;
}

/// Changes a number that this thread alone changes, and others may read.
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

/// Takes a socket that is closed off the account it was opened on.
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
    free(poller->slots);
    sem_destroy(&poller->unpark);
    free(poller->dirty);
    free(poller);
}

/// The slot of a descriptor; NULL only when memory is short.
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

static uint16_t local_port(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage storage;
    } address;
    socklen_t size = sizeof address;
    if (getsockname(fd, &address.any, &size) < 0) return 0;
    return address.any.sa_family == AF_INET    ? ntohs(address.v4.sin_port)
           : address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port)
                                               : 0;
}

static void accuse(ccurl_poller *poller, int fd, struct slot *slot) {
    if (slot->suspect) return;
    slot->suspect = true;
    slot->port = local_port(fd);
    poller->suspects++;
    poller->suspect_ports[slot->port % port_buckets]++;
}

static void acquit(ccurl_poller *poller, struct slot *slot) {
    if (!slot->suspect) return;
    slot->suspect = false;
    poller->suspects--;
    poller->suspect_ports[slot->port % port_buckets]--;
}

/// Notes what a socket is watched for from now on.
static int want(ccurl_poller *poller, int fd, struct slot *slot, uint32_t events) {
    slot->wanted = events;
    if (!slot->wanted) {
        // The resolver's own sockets are closed behind our back: those do not stay registered.
        if (!slot->ours) take_out(poller, fd, slot);
        // What is not registered brings things unseen.
        else if (!(slot->armed & EPOLLIN)) accuse(poller, fd, slot);
        return 0;
    }
    acquit(poller, slot);
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
    (void)easy;
    (void)unused;
    ccurl_poller *poller = client;
    struct slot *slot = slot_of(poller, fd);
    if (!slot) return -1;
    if (slot->ready) return 0;  // libcurl lets go of it once more when it closes it
    return want(poller, fd, slot,
                (what & CURL_POLL_IN && what != CURL_POLL_REMOVE ? EPOLLIN : 0) |
                    (what & CURL_POLL_OUT && what != CURL_POLL_REMOVE ? EPOLLOUT : 0));
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
    // libcurl then tries the host's next address.
    if (!opener->may_connect(opener->client, &address->addr)) return CURL_SOCKET_BAD;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0) {
        // Only what is short is worth telling: a machine without IPv6 fails here all day.
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            poller->socket_error = errno;
        return CURL_SOCKET_BAD;
    }
    struct slot *slot = slot_of(poller, fd);
    opener->opened++;
    if (slot) {
        slot->wanted = slot->armed = 0;
        acquit(poller, slot);
        slot->ours = true;
        slot->ready = NULL;
        // libcurl closes a socket that never got connected without a word to us; this one has its
        // number.
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
        slot->wanted = slot->armed = 0;  // the kernel forgets a closed descriptor by itself
        acquit(poller, slot);
        slot->ours = false;
        slot->ready = NULL;
        settle(poller, slot);
    }
    return close(fd);
}

void ccurl_poller_attach(ccurl_poller *poller, CURLM *multi) {
    poller->multi = multi;
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, poller);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, poller);
}

void ccurl_opener_adopt(ccurl_opener *opener, CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, opener);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    // The connection remembers this and may outlive the handle.
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

/// Brings the kernel's table up to date with what libcurl asked for since the last wait.
static void flush(ccurl_poller *poller) {
    for (size_t index = 0; index < poller->dirty_count; index++) {
        int fd = poller->dirty[index];
        struct slot *slot = &poller->slots[fd];
        slot->dirty = false;
        if (!slot->wanted || slot->wanted == slot->armed) continue;
        struct epoll_event event = {.events = slot->wanted, .data.fd = fd};
        int first = slot->armed ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        int second = slot->armed ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
        if (epoll_ctl(poller->epoll, first, fd, &event) == 0 ||
            epoll_ctl(poller->epoll, second, fd, &event) == 0)
            slot->armed = slot->wanted;
        else
            slot->armed = 0;
    }
    poller->dirty_count = 0;
}

int ccurl_poller_wait(ccurl_poller *poller, int timeout_ms) {
    flush(poller);
    int count = epoll_wait(poller->epoll, poller->events, max_events, timeout_ms);
    poller->ready = 0;
    for (int index = 0; index < count; index++) {
        int fd = poller->events[index].data.fd;
        if (fd < 0) continue;
        struct slot *slot = &poller->slots[fd];
        if (!slot->wanted) {
            // An idle connection that the server closed, or data nobody asked for; or a paused
            // transfer's, which is wanted again before anybody looks.
            take_out(poller, fd, slot);
            if (slot->ours && !slot->ready) accuse(poller, fd, slot);
            continue;
        }
        poller->events[poller->ready++] = poller->events[index];
    }
    return poller->ready;
}

/// Whether there is something to read, be it the end.
static bool brings(int fd) {
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

bool ccurl_poller_brings_uncalled(const ccurl_poller *poller, CURL *easy, int port) {
    long made = 0;
    if (poller->suspects == 0 || port < 0 || !poller->suspect_ports[port % port_buckets])
        return false;
    if (curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &made) != CURLE_OK || made > 0) return false;
    // libcurl names the socket of a handle only once a transfer has ended on it.
    for (size_t fd = 0; fd < poller->slot_count; fd++) {
        const struct slot *slot = &poller->slots[fd];
        if (slot->suspect && slot->port == port && brings((int)fd)) return true;
    }
    return false;
}

void ccurl_poller_dispatch(ccurl_poller *poller) {
    int running;
    for (int index = 0; index < poller->ready; index++) {
        uint32_t events = poller->events[index].events;
        int fd = poller->events[index].data.fd;
        // An earlier action of this round may have closed it or lost interest.
        struct slot slot = poller->slots[fd];
        if (!slot.wanted) continue;
        if (slot.ready) {
            slot.ready(slot.client);
            continue;
        }
        int mask = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(poller->multi, fd, mask, &running);
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
    uint64_t one = 1;
    // A full counter wakes as well, so the result says nothing of use.
    if (write(poller->event, &one, sizeof one) < 0) return;
}

void ccurl_poller_park(ccurl_poller *poller) {
    while (sem_wait(&poller->unpark) < 0 && errno == EINTR) continue;
}

void ccurl_poller_unpark(ccurl_poller *poller) { sem_post(&poller->unpark); }

int ccurl_poller_take_socket_error(ccurl_poller *poller) {
    int error = poller->socket_error;
    poller->socket_error = 0;
    return error;
}

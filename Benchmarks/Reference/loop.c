#define _GNU_SOURCE
#include "loop.h"

#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct slot {
    unsigned wanted, armed;
};

static const struct job *job;
static const char *address, *argument;
static CURLM *multi;
static int epoll;
static struct slot slots[1 << 16];
static int dirty[1 << 16], dirty_count;
static int64_t timer = -1;
static long to_start, started, finished, failed;
static int64_t *latencies;

void grow(char **bytes, size_t *capacity, size_t needed) {
    if (needed <= *capacity) return;
    size_t capacity_now = *capacity ? *capacity : 512;
    while (capacity_now < needed) capacity_now *= 2;
    char *grown = realloc(*bytes, capacity_now);
    if (!grown) exit(3);
    *bytes = grown;
    *capacity = capacity_now;
}

static size_t on_header(char *line, size_t size, size_t count, void *client) {
    struct transfer *transfer = client;
    grow(&transfer->head, &transfer->head_capacity, transfer->head_size + size * count);
    memcpy(transfer->head + transfer->head_size, line, size * count);
    transfer->head_size += size * count;
    return size * count;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *client) {
    struct transfer *transfer = client;
    size_t length = size * count;
    if (transfer->file >= 0) {
        for (size_t done = 0; done < length;) {
            ssize_t written = write(transfer->file, bytes + done, length - done);
            if (written < 0) return 0;
            done += (size_t)written;
        }
        transfer->body_size += length;
        return length;
    }
    if (!transfer->body_capacity) {
        curl_off_t expected = 0;
        curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &expected);
        if (expected > 0 && expected < (64 << 20))
            grow(&transfer->body, &transfer->body_capacity, (size_t)expected);
    }
    grow(&transfer->body, &transfer->body_capacity, transfer->body_size + length);
    memcpy(transfer->body + transfer->body_size, bytes, length);
    transfer->body_size += length;
    return length;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *client, void *unused) {
    (void)easy, (void)client, (void)unused;
    if (what == CURL_POLL_REMOVE) {
        slots[fd].wanted = 0;
        return 0;
    }
    slots[fd].wanted = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    if (slots[fd].wanted != slots[fd].armed) dirty[dirty_count++] = fd;
    return 0;
}

static int on_close(void *client, curl_socket_t fd) {
    (void)client;
    slots[fd].wanted = slots[fd].armed = 0;
    return close(fd);
}

static int on_timer(CURLM *handle, long timeout, void *client) {
    (void)handle, (void)client;
    timer = timeout < 0 ? -1 : now_us() + timeout * 1000;
    return 0;
}

static void start(struct transfer *transfer) {
    CURL *easy = transfer->easy;
    // The setup of the handle is included, because Outlet's latencies include making the request.
    transfer->started = now_ns();
    curl_easy_reset(easy);
    curl_slist_free_all(transfer->fields);
    transfer->fields = NULL;
    for (int index = 0; index < 5; index++)
        transfer->fields = curl_slist_append(transfer->fields, request_fields[index]);
    curl_easy_setopt(easy, CURLOPT_URL, address);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->fields);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, NULL);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 30000L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 600000L);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    if (job->options) job->options(transfer, argument);
    transfer->head_size = transfer->body_size = 0;
    started++;
    curl_multi_add_handle(multi, easy);
}

static void collect(void) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        struct transfer *transfer = NULL;
        CURL *easy = message->easy_handle;
        long status = 0;
        CURLcode code = message->data.result;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_multi_remove_handle(multi, easy);
        if (code != CURLE_OK || status != 200 ||
            (job->check && !job->check(transfer, argument))) {
            if (failed++ == 0) fprintf(stderr, "reference: %s\n", curl_easy_strerror(code));
        }
        if (latencies) latencies[finished] = now_ns() - transfer->started;
        finished++;
        if (started < to_start) start(transfer);
    }
}

static void run(void) {
    struct epoll_event events[256];
    while (finished < to_start) {
        int running;
        if (timer >= 0 && timer <= now_us()) {
            timer = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
            collect();
            continue;
        }
        for (int index = 0; index < dirty_count; index++) {
            int fd = dirty[index];
            struct slot *slot = &slots[fd];
            if (!slot->wanted || slot->wanted == slot->armed) continue;
            struct epoll_event event = {.events = slot->wanted, .data.fd = fd};
            if (epoll_ctl(epoll, slot->armed ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0)
                epoll_ctl(epoll, slot->armed ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
            slot->armed = slot->wanted;
        }
        dirty_count = 0;
        int64_t left = timer < 0 ? -1 : (timer - now_us() + 999) / 1000;
        int count = epoll_wait(epoll, events, 256, (int)(left < -1 ? 0 : left));
        for (int index = 0; index < count; index++) {
            int fd = events[index].data.fd;
            if (!slots[fd].wanted) {
                epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
                slots[fd].armed = 0;
                continue;
            }
            int mask = (events[index].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                       (events[index].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                       (events[index].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            curl_multi_socket_action(multi, fd, mask, &running);
        }
        collect();
    }
}

static void setup(int concurrency, struct transfer *transfers) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    epoll = epoll_create1(EPOLL_CLOEXEC);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 65536L);
    for (int index = 0; index < concurrency; index++) {
        transfers[index].easy = curl_easy_init();
        transfers[index].file = -1;
    }
}

/// Runs `count` requests, `concurrency` of them concurrently, and stores their latencies.
static void requests(struct transfer *transfers, int concurrency, long count) {
    to_start = count;
    started = finished = 0;
    for (int index = 0; index < concurrency && started < to_start; index++) start(&transfers[index]);
    run();
}

long run_job(
    const struct job *kind, const char *url, int concurrency, long count, const char *option) {
    job = kind, address = url, argument = option;
    struct transfer *transfers = calloc((size_t)concurrency, sizeof *transfers);
    latencies = calloc((size_t)count, sizeof *latencies);
    if (!transfers || !latencies) return 1;
    // Without a warm-up, the setup is part of the measurement.
    struct measure measure = measure_begin();
    setup(concurrency, transfers);
    if (job->prepare) job->prepare(&transfers[0], argument);
    if (job->warms_up) {
        int64_t *measured = latencies;
        latencies = NULL;
        requests(transfers, concurrency, count / 10 + concurrency);
        latencies = measured;
        measure = measure_begin();
    }
    requests(transfers, concurrency, count);
    measure_end(&measure, job->name, concurrency, count, latencies);
    return failed;
}

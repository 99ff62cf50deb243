// What libcurl costs without Outlet: the same work in plain C, as fast as libcurl allows.
//
// One thread, curl_multi_socket_action over epoll with sticky registration, handles that are reset
// and set up anew for each request (all options, five header fields, no proxy), header lines and
// body collected. Prints one line of JSON.
//
//   reference requests URL CONCURRENCY COUNT
//   reference download-file URL PATH
//   reference download-memory URL
//   reference tls-fresh URL COUNT CA_DIRECTORY
//   reference inflight URL COUNT
//   reference hold PORT COUNT          a server that answers when COUNT requests have come
#define _GNU_SOURCE
#include "measure.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

int hold(int port, int count);

struct slot {
    unsigned wanted, armed;
};

struct transfer {
    CURL *easy;
    struct curl_slist *fields;
    char *head, *body;
    size_t head_size, head_capacity, body_size, body_capacity;
    int64_t started;
    int file;
};

static const char *address, *ca_directory;
static CURLM *multi;
static int epoll;
static struct slot slots[1 << 16];
static int dirty[1 << 16], dirty_count;
static int64_t timer = -1;
static long to_start, started, finished, failed;
static long buffer_size;
static int64_t *latencies;

static void grow(char **bytes, size_t *capacity, size_t needed) {
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
    // From here on, because Outlet's count from the call that makes the request.
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
    if (buffer_size) curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, buffer_size);
    if (ca_directory) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        curl_easy_setopt(easy, CURLOPT_CAPATH, ca_directory);
    }
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
        if (code != CURLE_OK || status != 200) {
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

/// Runs `count` requests, `concurrency` at a time, and leaves how long each took.
static void requests(struct transfer *transfers, int concurrency, long count) {
    to_start = count;
    started = finished = 0;
    for (int index = 0; index < concurrency && started < to_start; index++) start(&transfers[index]);
    run();
}

int main(int argc, char **argv) {
    if (argc < 3) return 64;
    const char *what = argv[1];
    address = argv[2];
    if (!strcmp(what, "hold")) return hold(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 1);
    if (!strcmp(what, "requests") && argc > 4) {
        int concurrency = atoi(argv[3]);
        long count = atol(argv[4]);
        struct transfer *transfers = calloc((size_t)concurrency, sizeof *transfers);
        setup(concurrency, transfers);
        requests(transfers, concurrency, count / 10 + concurrency);
        latencies = calloc((size_t)count, sizeof *latencies);
        struct measure measure = measure_begin();
        requests(transfers, concurrency, count);
        measure_end(&measure, "reference", concurrency, count, latencies);
    } else if (!strcmp(what, "tls-fresh") && argc > 4) {
        long count = atol(argv[3]);
        struct transfer transfer = {0};
        ca_directory = argv[4];
        setup(1, &transfer);
        requests(&transfer, 1, 5);
        latencies = calloc((size_t)count, sizeof *latencies);
        struct measure measure = measure_begin();
        requests(&transfer, 1, count);
        measure_end(&measure, "reference-tls-fresh", 1, count, latencies);
    } else if (!strcmp(what, "inflight") && argc > 3) {
        int count = atoi(argv[3]);
        struct transfer *transfers = calloc((size_t)count, sizeof *transfers);
        struct measure measure = measure_begin();
        setup(count, transfers);
        // The server answers nobody before all are there: the first answer tells when they were.
        latencies = calloc((size_t)count, sizeof *latencies);
        requests(transfers, count, count);
        measure.pending_s = (double)latencies[0] / 1e9;
        measure_end(&measure, "reference-inflight", count, count, NULL);
    } else {
        struct transfer transfer = {0};
        int is_file = !strcmp(what, "download-file");
        setup(1, &transfer);
        buffer_size = 256 * 1024;
        // A new file: one that was cut is written back when it is closed, which is not measured here.
        if (is_file) unlink(argv[3]);
        if (is_file) transfer.file = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        struct measure measure = measure_begin();
        requests(&transfer, 1, 1);
        measure_end(
            &measure, is_file ? "reference-download-file" : "reference-download-memory", 1, 1, NULL);
        if (!transfer.body_size) failed++;
    }
    return failed ? 1 : 0;
}

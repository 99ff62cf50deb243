// Measures libcurl and wslay without Outlet: the same work in plain C.
//
//   OutletReference JOB URL CONCURRENCY COUNT [ARGUMENT]   prints one line of JSON
//   OutletReference hold PORT COUNT         a server that responds when COUNT requests have arrived
//   OutletReference sink PORT               a server that accepts uploads
//   OutletReference sockets PORT            a WebSocket server
//
// `jobs` below and `socket_jobs` in sockets.c list the jobs.
#define _GNU_SOURCE
#include "events.h"
#include "loop.h"
#include "server.h"
#include "sockets.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// MARK: TLS

static void trust_directory(struct transfer *transfer, const char *directory) {
    curl_easy_setopt(transfer->easy, CURLOPT_CAINFO, NULL);
    curl_easy_setopt(transfer->easy, CURLOPT_CAPATH, directory);
}

/// Uses HTTP/2 if the server supports it; all requests then share one connection.
static void trust_file(struct transfer *transfer, const char *file) {
    curl_easy_setopt(transfer->easy, CURLOPT_CAINFO, file);
    curl_easy_setopt(transfer->easy, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(transfer->easy, CURLOPT_PIPEWAIT, 1L);
}

// MARK: Uploads

static void post(struct transfer *transfer, const char *size) {
    static char *body;
    long length = atol(size);
    if (!body) body = calloc(1, (size_t)length);
    curl_easy_setopt(transfer->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    // Outlet does not send Expect either.
    transfer->fields = curl_slist_append(transfer->fields, "Expect:");
    curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->fields);
}

static size_t read_file(char *buffer, size_t size, size_t count, void *client) {
    struct transfer *transfer = client;
    ssize_t length = read(transfer->file, buffer, size * count);
    return length < 0 ? CURL_READFUNC_ABORT : (size_t)length;
}

static size_t drop(char *bytes, size_t size, size_t count, void *client) {
    (void)bytes, (void)client;
    return size * count;
}

static void put_file(struct transfer *transfer, const char *path) {
    transfer->file = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = lseek(transfer->file, 0, SEEK_END);
    lseek(transfer->file, 0, SEEK_SET);
    curl_easy_setopt(transfer->easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(transfer->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)size);
    curl_easy_setopt(transfer->easy, CURLOPT_READFUNCTION, read_file);
    curl_easy_setopt(transfer->easy, CURLOPT_READDATA, transfer);
    curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(transfer->easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L * 1024);
    transfer->fields = curl_slist_append(transfer->fields, "Expect:");
    curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->fields);
}

// MARK: Downloads

static void large_buffer(struct transfer *transfer, const char *argument) {
    (void)argument;
    curl_easy_setopt(transfer->easy, CURLOPT_BUFFERSIZE, 256L * 1024);
}

static void open_file(struct transfer *transfer, const char *path) {
    transfer->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static int has_body(const struct transfer *transfer, const char *argument) {
    (void)argument;
    return transfer->body_size > 0;
}

static void unpack(struct transfer *transfer, const char *argument) {
    (void)argument;
    curl_easy_setopt(transfer->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
}

static void keep_cookies(struct transfer *transfer, const char *argument) {
    (void)argument;
    curl_easy_setopt(transfer->easy, CURLOPT_COOKIEFILE, "");
}

// MARK: Events

static struct events events;

static size_t on_events(char *bytes, size_t size, size_t count, void *client) {
    (void)client;
    events_parse(&events, bytes, size * count);
    return size * count;
}

static void parse_events(struct transfer *transfer, const char *argument) {
    (void)argument;
    events.count = 0;
    curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, on_events);
}

static int has_events(const struct transfer *transfer, const char *expected) {
    (void)transfer;
    return events.count == atol(expected);
}

static const struct job jobs[] = {
    {.name = "requests", .warms_up = 1},
    {.name = "steady", .warms_up = 1},
    {.name = "tls-fresh", .warms_up = 1, .options = trust_directory},
    {.name = "tls", .warms_up = 1, .options = trust_file},
    {.name = "tls-burst", .options = trust_file},
    {.name = "post", .warms_up = 1, .options = post},
    {.name = "put-file", .options = put_file},
    {.name = "gzip", .warms_up = 1, .options = unpack},
    {.name = "cookies", .warms_up = 1, .options = keep_cookies},
    {.name = "events", .warms_up = 1, .options = parse_events, .check = has_events},
    {.name = "inflight"},
    {.name = "download-file", .prepare = open_file, .options = large_buffer, .check = has_body},
    {.name = "download-memory", .options = large_buffer, .check = has_body},
};

int main(int argc, char **argv) {
    if (argc < 3) return 64;
    const char *name = argv[1], *argument = argc > 5 ? argv[5] : "";
    if (!strcmp(name, "hold")) return serve_holding(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 1);
    if (!strcmp(name, "sink")) return serve_sink(atoi(argv[2]));
    if (!strcmp(name, "sockets")) return serve_sockets(atoi(argv[2]));
    if (argc < 5) return 64;
    int concurrency = atoi(argv[3]);
    long count = atol(argv[4]);
    for (size_t index = 0; index < sizeof jobs / sizeof *jobs; index++)
        if (!strcmp(name, jobs[index].name))
            return run_job(&jobs[index], argv[2], concurrency, count, argument) ? 1 : 0;
    return run_socket_job(name, argv[2], count, argument);
}

#pragma once
/// Transfers as fast as libcurl allows: one thread, curl_multi_socket_action over epoll with sticky
/// registration, handles that are reset and set up anew for each request (all options, five header
/// fields, no proxy), header lines and body collected.
#include <curl/curl.h>
#include <stdint.h>

struct transfer {
    CURL *easy;
    struct curl_slist *fields;
    char *head, *body;
    size_t head_size, head_capacity, body_size, body_capacity;
    int64_t started;
    /// Where the body is written to, or read from for an upload; -1 for none.
    int file;
};

/// What kind of request is repeated.
struct job {
    const char *name;
    /// Whether a tenth of the requests runs before what is measured.
    int warms_up;
    /// Called once, before the first request, with the program's last argument ("" if missing).
    void (*prepare)(struct transfer *, const char *argument);
    /// Sets what differs from a plain request.
    void (*options)(struct transfer *, const char *argument);
    /// Called behind each response: whether it is what was asked for.
    int (*check)(const struct transfer *, const char *argument);
};

/// Runs the requests and prints the line of JSON; returns how many have failed.
long run_job(
    const struct job *job, const char *url, int concurrency, long count, const char *argument);

/// Makes room for so many bytes, doubling.
void grow(char **bytes, size_t *capacity, size_t needed);

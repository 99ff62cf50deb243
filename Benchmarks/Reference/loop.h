#pragma once
/// Runs transfers as fast as libcurl allows.
///
/// One thread calls curl_multi_socket_action, driven by epoll. A socket's registration in epoll is
/// kept between transfers. For each request the handle is reset and all its options are set again
/// (five header fields, no proxy). Header lines and the body are stored.
#include <curl/curl.h>
#include <stdint.h>

struct transfer {
    CURL *easy;
    struct curl_slist *fields;
    char *head, *body;
    size_t head_size, head_capacity, body_size, body_capacity;
    int64_t started;
    /// The file that the response body is written to or an upload is read from; -1 for none.
    int file;
};

/// A kind of request to repeat.
struct job {
    const char *name;
    /// Whether a tenth of the requests runs before the measurement starts.
    int warms_up;
    /// Called once, before the first request, with the program's last argument ("" if missing).
    void (*prepare)(struct transfer *, const char *argument);
    /// Sets the options that differ from a plain request.
    void (*options)(struct transfer *, const char *argument);
    /// Called after each response; returns 0 if the response is wrong.
    int (*check)(const struct transfer *, const char *argument);
};

/// Runs the requests and prints the line of JSON; returns the number of failed requests.
long run_job(
    const struct job *job, const char *url, int concurrency, long count, const char *argument);

/// Grows a buffer to at least `needed` bytes by doubling its capacity.
void grow(char **bytes, size_t *capacity, size_t needed);

#pragma once
/// Collects header lines, so that Swift is called once per head and not once per line.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Why a head or trailers are malformed.
typedef enum ccurl_head_fault {
    CCURL_HEAD_SOUND = 0,
    /// `Content-Length` is not one number.
    CCURL_HEAD_LENGTH,
    /// Several values of `Content-Length` differ.
    CCURL_HEAD_LENGTHS,
    /// `Transfer-Encoding` is not `chunked` once.
    CCURL_HEAD_CODING,
    /// There is a `Transfer-Encoding` beside a `Content-Length`.
    CCURL_HEAD_BOTH,
    /// There is a `Transfer-Encoding` in HTTP/1.0, which has none.
    CCURL_HEAD_OLD_CODING,
    /// One of these two fields has more than one line.
    CCURL_HEAD_FOLD,
    /// A line is not a field: there is no colon, or the text before it is not a token.
    CCURL_HEAD_NAME,
} ccurl_head_fault;

/// The lines of a head or of trailers. Zero it before use, and free `bytes` after use.
typedef struct ccurl_head {
    char *_Nullable bytes;
    size_t count;
    size_t capacity;
    /// The maximum of `count`; more bytes are refused.
    size_t limit;
    /// The number of field lines so far; more than `line_limit` are refused.
    size_t lines;
    size_t line_limit;
    /// The final head is complete: the next line is a trailer, or the status line of another head.
    bool is_behind;
    /// Whether to set `began_us`, when the last head has begun, in µs of the monotonic clock.
    bool is_timed;
    int64_t began_us;
    /// One bit for the name of each field that was received, see `ccurl_mark`.
    uint64_t marks;
    /// Whether `Content-Length` and `Transfer-Encoding` were received, and the value of the former.
    bool has_length;
    bool has_coding;
    int64_t length;
    /// The first fault, and the offset in `bytes` of the line that has it.
    ccurl_head_fault fault;
    size_t fault_start;
    void *_Nullable client;
    /// Called when the empty line after a head is received, or, with `is_whole` false, when a limit
    /// is exceeded. Returns whether the transfer continues.
    bool (*_Nullable completed)(void *_Nullable client, bool is_whole);
    /// Called when a status line of HTTP/2 is received. Returns whether the transfer continues.
    bool (*_Nullable began_http2)(void *_Nullable client);
} ccurl_head;

/// Returns the bit for a field's name. Several names share a bit, so a bit that is not set proves
/// that the field is absent, but a set bit does not prove that it is present.
static inline uint64_t ccurl_mark(const char *_Nonnull name, size_t length) {
    return UINT64_C(1) << ((length ^ ((unsigned char)*name | 0x20)) & 63);
}

/// The callback for `CURLOPT_HEADERFUNCTION`, with a `ccurl_head` as `CURLOPT_HEADERDATA`.
size_t ccurl_collect_header(
    char *_Nullable line, size_t size, size_t count, void *_Nullable head);

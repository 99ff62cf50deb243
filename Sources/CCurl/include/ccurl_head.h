#pragma once
/// Header lines put together as they come, one call into Swift for each head instead of one a line.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What makes a head or trailers malformed.
typedef enum ccurl_head_fault {
    CCURL_HEAD_SOUND = 0,
    /// `Content-Length` is not one number.
    CCURL_HEAD_LENGTH,
    /// `Transfer-Encoding` is not `chunked` once.
    CCURL_HEAD_CODING,
    /// One of these two fields has more than one line.
    CCURL_HEAD_FOLD,
    /// A line is no field: what stands before its colon is no token, or there is none.
    CCURL_HEAD_NAME,
} ccurl_head_fault;

/// The lines of a head or of trailers; zero it before use, free `bytes` after it.
typedef struct ccurl_head {
    char *_Nullable bytes;
    size_t count;
    size_t capacity;
    /// More bytes than this are refused.
    size_t limit;
    /// The number of field lines so far; more than `line_limit` are refused.
    size_t lines;
    size_t line_limit;
    /// The final head is complete: what comes now is a trailer, or the status line of another head.
    bool is_behind;
    /// A bit for the name of each field that has come, see `ccurl_mark`.
    uint64_t marks;
    /// What `Content-Length` has said so far, and whether `Transfer-Encoding` was there.
    bool has_length;
    bool has_coding;
    int64_t length;
    /// What is wrong with the lines, and where in `bytes` the first line is that shows it.
    ccurl_head_fault fault;
    size_t fault_start;
    void *_Nullable client;
    /// Called when the empty line behind a head has come, or, with `is_whole` false, when a limit
    /// is passed. Returns whether the transfer goes on.
    bool (*_Nullable completed)(void *_Nullable client, bool is_whole);
} ccurl_head;

/// The bit that a field's name leaves: many names share one, but no name is without.
static inline uint64_t ccurl_mark(const char *_Nonnull name, size_t length) {
    return UINT64_C(1) << ((length ^ ((unsigned char)*name | 0x20)) & 63);
}

/// For `CURLOPT_HEADERFUNCTION`, with a `ccurl_head` for `CURLOPT_HEADERDATA`.
size_t ccurl_collect_header(
    char *_Nullable line, size_t size, size_t count, void *_Nullable head);

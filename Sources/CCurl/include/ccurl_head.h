#pragma once
/// Header lines put together as they come, one call into Swift for each head instead of one a line.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The lines of a head or of trailers; zero it before use, free `bytes` after it.
typedef struct ccurl_head {
    char *_Nullable bytes;
    size_t count;
    size_t capacity;
    /// More bytes than this are refused.
    size_t limit;
    /// How many lines of it have come; more than `line_limit` are refused.
    size_t lines;
    size_t line_limit;
    /// The final head is complete: what comes now is a trailer, or the status line of another head.
    bool is_behind;
    /// A bit for the name of each field that has come, see `ccurl_mark`.
    uint64_t marks;
    /// What `Content-Length` has said so far, and whether that is anything but one number.
    bool has_length;
    bool is_ambiguous;
    int64_t length;
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

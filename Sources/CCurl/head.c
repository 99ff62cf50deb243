#include "ccurl_head.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/// What hardly any line is; what follows stays out of the way of the others.
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/// Notes what the value of a `Content-Length` field says, from its colon to the line's end: one
/// number, however often it is said (RFC 9110 §8.6).
static void note_length(ccurl_head *head, const char *at, const char *end) {
    while (end > at && (end[-1] == '\r' || end[-1] == '\n')) end--;
    while (true) {
        int64_t value = 0;
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        const char *digits = at;
        for (; at < end && *at >= '0' && *at <= '9'; at++) {
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, *at - '0', &value))
                head->is_ambiguous = true;
        }
        if (at == digits || (head->has_length && value != head->length)) head->is_ambiguous = true;
        head->has_length = true;
        head->length = value;
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        if (at == end) return;
        if (*at++ != ',') {
            head->is_ambiguous = true;
            return;
        }
    }
}

/// Makes room for `length` more bytes.
static bool reserve(ccurl_head *head, size_t length) {
    size_t capacity = head->capacity ? head->capacity * 2 : 512;
    while (capacity < head->count + length) capacity *= 2;
    char *bytes = realloc(head->bytes, capacity);
    if (!bytes) return false;
    head->bytes = bytes;
    head->capacity = capacity;
    return true;
}

static bool collect_line(ccurl_head *head, const char *line, size_t length) {
    static const char length_name[] = "content-length";
    bool is_end = length <= 2 && (line[0] == '\r' || line[0] == '\n');
    if (RARELY(head->is_behind)) {
        if (is_end) return true;
        if (length > 5 && memcmp(line, "HTTP/", 5) == 0) {
            // A further head on the same transfer: the answer to an authentication round.
            head->is_behind = false;
            head->count = 0;
            head->lines = 0;
        }
    }
    // The status line and the empty line are no fields.
    if (RARELY(length > head->limit - head->count) ||
        RARELY(!is_end && head->lines++ > head->line_limit))
        return head->completed(head->client, false);
    if (RARELY(head->count + length > head->capacity) && !reserve(head, length)) return false;
    if (head->count == 0) {
        head->has_length = head->is_ambiguous = false;
        head->marks = 0;
    }
    // A loop, because names are short, and a call for each of them is long.
    size_t colon = 0;
    while (colon < length && line[colon] != ':') colon++;
    if (colon < length) {
        head->marks |= ccurl_mark(line, colon);
        if (RARELY(colon == sizeof length_name - 1) && !head->is_behind &&
            strncasecmp(line, length_name, colon) == 0)
            note_length(head, line + colon + 1, line + length);
    }
    memcpy(head->bytes + head->count, line, length);
    head->count += length;
    return !is_end || head->completed(head->client, true);
}

size_t ccurl_collect_header(char *lines, size_t size, size_t count, void *client) {
    size_t length = size * count;
    // One line at a time, but after a pause: libcurl has gathered what came meanwhile.
    for (size_t start = 0; start < length;) {
        const char *end = memchr(lines + start, '\n', length - start);
        size_t next = end ? (size_t)(end - lines) + 1 : length;
        if (!collect_line(client, lines + start, next - start)) return 0;
        start = next;
    }
    return length;
}

#include "ccurl_head.h"
#include "ccurl_poller.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/// Marks a condition as unlikely, so that the compiler moves its branch out of the usual path.
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/// The characters of a token (RFC 9110 §5.6.2).
static const bool is_token[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1,
    ['-'] = 1, ['.'] = 1, ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1, ['~'] = 1,
    ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1,
};

static bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

/// Records a fault of the line that begins at `start`; only the first fault is kept.
static void note_fault(ccurl_head *head, ccurl_head_fault fault, size_t start) {
    if (head->fault != CCURL_HEAD_SOUND) return;
    head->fault = fault;
    head->fault_start = start;
}

/// Checks the value of a `Content-Length` field, from its colon to the end of the line: one number,
/// which may be repeated, also on other lines (RFC 9110 §8.6).
static void note_length(ccurl_head *head, const char *at, const char *end) {
    bool is_ambiguous = false, differs = false;
    while (end > at && (end[-1] == '\r' || end[-1] == '\n')) end--;
    while (!is_ambiguous) {
        int64_t value = 0;
        while (at < end && is_blank(*at)) at++;
        const char *digits = at;
        for (; at < end && *at >= '0' && *at <= '9'; at++) {
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, *at - '0', &value))
                is_ambiguous = true;
        }
        if (at == digits) is_ambiguous = true;
        if (head->has_length && value != head->length) differs = true;
        head->has_length = true;
        head->length = value;
        while (at < end && is_blank(*at)) at++;
        if (at == end) break;
        if (*at++ != ',') is_ambiguous = true;
    }
    if (is_ambiguous) note_fault(head, CCURL_HEAD_LENGTH, head->count);
    if (differs) note_fault(head, CCURL_HEAD_LENGTHS, head->count);
    if (head->has_coding) note_fault(head, CCURL_HEAD_BOTH, head->count);
}

/// Checks the value of a `Transfer-Encoding` field: `chunked`, once, in HTTP/1.1, and without a
/// `Content-Length`. That is the only coding that libcurl and all intermediaries interpret in the
/// same way (RFC 9112 §6.1, §6.3).
static void note_coding(ccurl_head *head, const char *at, const char *end) {
    static const char chunked[] = "chunked";
    while (end > at && (end[-1] == '\r' || end[-1] == '\n' || is_blank(end[-1]))) end--;
    while (at < end && is_blank(*at)) at++;
    bool is_chunked = (size_t)(end - at) == sizeof chunked - 1 &&
                      strncasecmp(at, chunked, sizeof chunked - 1) == 0;
    static const char old[] = "HTTP/1.0";
    if (head->has_coding || !is_chunked) note_fault(head, CCURL_HEAD_CODING, head->count);
    if (head->has_length) note_fault(head, CCURL_HEAD_BOTH, head->count);
    if (head->count >= sizeof old - 1 && memcmp(head->bytes, old, sizeof old - 1) == 0)
        note_fault(head, CCURL_HEAD_OLD_CODING, head->count);
    head->has_coding = true;
}

/// Whether a line is a field with this name, which must be in lower case.
static bool is_field(const char *line, size_t length, const char *name, size_t name_length) {
    return length > name_length && line[name_length] == ':' &&
           strncasecmp(line, name, name_length) == 0;
}

static const char length_name[] = "content-length";
static const char coding_name[] = "transfer-encoding";

/// Checks a line that does not begin with a name and a colon. A line that begins with a blank
/// continues the field before it (RFC 9112 §5.2). Implementations differ in that, so it is a fault
/// if that field determines the length of the body.
static void note_odd_line(ccurl_head *head, const char *line) {
    if (!is_blank(line[0])) return note_fault(head, CCURL_HEAD_NAME, head->count);
    size_t start = head->count;
    while (start > 0) {
        size_t end = start--;
        while (start > 0 && head->bytes[start - 1] != '\n') start--;
        const char *field = head->bytes + start;
        if (is_blank(*field)) continue;
        if (is_field(field, end - start, length_name, sizeof length_name - 1) ||
            is_field(field, end - start, coding_name, sizeof coding_name - 1))
            note_fault(head, CCURL_HEAD_FOLD, start);
        return;
    }
}

/// Reserves memory for `length` more bytes.
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
    bool is_end = length <= 2 && (line[0] == '\r' || line[0] == '\n');
    if (RARELY(head->is_behind)) {
        if (is_end) return true;
        if (length > 5 && memcmp(line, "HTTP/", 5) == 0) {
            // Another head of the same transfer: the response to an authentication attempt.
            head->is_behind = false;
            head->count = 0;
            head->lines = 0;
        }
    }
    bool is_status_line = head->count == 0 && !head->is_behind;
    if (RARELY(length > head->limit - head->count) ||
        RARELY(!is_end && !is_status_line && head->lines++ >= head->line_limit))
        return head->completed(head->client, false);
    if (RARELY(head->count + length > head->capacity) && !reserve(head, length)) return false;
    bool is_first = head->count == 0;
    if (is_first) {
        head->has_length = head->has_coding = false;
        head->fault = CCURL_HEAD_SOUND;
        head->marks = 0;
        if (RARELY(head->is_timed) && !head->is_behind) head->began_us = ccurl_now_us();
        if (!head->is_behind && length > 5 && line[5] == '2' && memcmp(line, "HTTP/", 5) == 0 &&
            !head->began_http2(head->client))
            return false;
    }
    // A loop, because names are short and a call per name would cost more.
    size_t colon = 0;
    while (colon < length && is_token[(unsigned char)line[colon]]) colon++;
    if (colon > 0 && colon < length && line[colon] == ':') {
        head->marks |= ccurl_mark(line, colon);
        if (RARELY(colon == sizeof length_name - 1) && !head->is_behind &&
            strncasecmp(line, length_name, colon) == 0)
            note_length(head, line + colon + 1, line + length);
        if (RARELY(colon == sizeof coding_name - 1) && !head->is_behind &&
            strncasecmp(line, coding_name, colon) == 0)
            note_coding(head, line + colon + 1, line + length);
    } else if (!is_end && (!is_first || head->is_behind)) {
        // The status line, the first line of a head, is not a field.
        note_odd_line(head, line);
    }
    memcpy(head->bytes + head->count, line, length);
    head->count += length;
    return !is_end || head->completed(head->client, true);
}

size_t ccurl_collect_header(char *lines, size_t size, size_t count, void *client) {
    size_t length = size * count;
    // libcurl passes one line per call, except after a pause, when it passes all lines received
    // meanwhile.
    for (size_t start = 0; start < length;) {
        const char *end = memchr(lines + start, '\n', length - start);
        size_t next = end ? (size_t)(end - lines) + 1 : length;
        if (!collect_line(client, lines + start, next - start)) return 0;
        start = next;
    }
    return length;
}

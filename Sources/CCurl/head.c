#include "ccurl_head.h"

#include <stdlib.h>
#include <string.h>

size_t ccurl_collect_header(char *line, size_t size, size_t count, void *client) {
    ccurl_head *head = client;
    size_t length = size * count;
    bool is_end = length <= 2 && (line[0] == '\r' || line[0] == '\n');
    if (head->is_behind) {
        if (is_end) return length;
        if (length > 5 && memcmp(line, "HTTP/", 5) == 0) {
            // A further head on the same transfer: the answer to an authentication round.
            head->is_behind = false;
            head->count = 0;
            head->lines = 0;
        }
    }
    // The status line and the empty line are no fields.
    if (length > head->limit - head->count || (!is_end && head->lines++ > head->line_limit))
        return head->completed(head->client, false) ? length : 0;
    if (head->count + length > head->capacity) {
        size_t capacity = head->capacity ? head->capacity * 2 : 512;
        while (capacity < head->count + length) capacity *= 2;
        char *bytes = realloc(head->bytes, capacity);
        if (!bytes) return 0;
        head->bytes = bytes;
        head->capacity = capacity;
    }
    memcpy(head->bytes + head->count, line, length);
    head->count += length;
    if (!is_end) return length;
    return head->completed(head->client, true) ? length : 0;
}

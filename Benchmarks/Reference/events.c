#include "events.h"

#include "loop.h"

#include <string.h>

/// Handles a line without its line ending: collects data, and counts an event at an empty line.
static void line(struct events *events, const char *bytes, size_t size) {
    if (size && bytes[size - 1] == '\r') size--;
    if (!size) {
        if (events->data_size) events->count++;
        events->data_size = 0;
        return;
    }
    if (size < 5 || memcmp(bytes, "data:", 5)) return;
    size_t start = size > 5 && bytes[5] == ' ' ? 6 : 5;
    grow(&events->data, &events->data_capacity, events->data_size + size + 1);
    memcpy(events->data + events->data_size, bytes + start, size - start);
    events->data_size += size - start;
    events->data[events->data_size++] = '\n';
}

void events_parse(struct events *events, const char *bytes, size_t size) {
    const char *end = bytes + size, *newline;
    while ((newline = memchr(bytes, '\n', (size_t)(end - bytes)))) {
        size_t length = (size_t)(newline - bytes);
        if (events->rest_size) {
            grow(&events->rest, &events->rest_capacity, events->rest_size + length);
            memcpy(events->rest + events->rest_size, bytes, length);
            line(events, events->rest, events->rest_size + length);
            events->rest_size = 0;
        } else {
            line(events, bytes, length);
        }
        bytes = newline + 1;
    }
    size_t left = (size_t)(end - bytes);
    grow(&events->rest, &events->rest_capacity, events->rest_size + left);
    memcpy(events->rest + events->rest_size, bytes, left);
    events->rest_size += left;
}

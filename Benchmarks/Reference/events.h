#pragma once
#include <stddef.h>

/// A parser of server-sent events that searches for line endings with memchr.
struct events {
    char *rest, *data;
    size_t rest_size, rest_capacity, data_size, data_capacity;
    long count;
};

void events_parse(struct events *events, const char *bytes, size_t size);

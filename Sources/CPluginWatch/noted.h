/*
 * noted.h - The ids of all plugins, for reports that know no call. Async-signal-safe.
 */
#ifndef CPLUGINWATCH_NOTED_H
#define CPLUGINWATCH_NOTED_H

#include <stdint.h>

/* The number of plugins of a library; at least one more than there can be if it is not known. */
int watch_count_noted(uint32_t library);

/* Appends the ids of the plugins of a library, or of all, after a text; nothing if there are none. */
void watch_append_noted(char *line, const char *text, const uint32_t *library);

#endif

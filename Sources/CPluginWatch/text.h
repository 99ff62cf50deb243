/*
 * text.h - Texts of limited length. Async-signal-safe.
 */
#ifndef CPLUGINWATCH_TEXT_H
#define CPLUGINWATCH_TEXT_H

#include <stddef.h>

/* The sizes of the memory of a line, and of a plugin's id. */
enum { line_size = 1024, id_size = 96 };

/* Appends a text to a line, as far as there is room. */
void watch_append(char *line, const char *text);

void watch_append_number(char *line, unsigned number);

/* Copies and cuts a text. Bullets (U+2022), which stand for secrets, become "*", and bytes other than printable
 * ASCII "?". */
void watch_copy_text(char *target, size_t size, const char *text);

#endif

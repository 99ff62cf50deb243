#include "text.h"

#include <stdbool.h>
#include <string.h>

void watch_append(char *line, const char *text) {
    size_t end = strlen(line);
    while (*text && end < line_size - 2) line[end++] = *text++;
    line[end] = 0;
}

void watch_append_number(char *line, unsigned number) {
    char digits[12];
    size_t start = sizeof digits - 1;
    digits[start] = 0;
    do {
        digits[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    watch_append(line, digits + start);
}

/* The bullet in UTF-8. */
static const char bullet[] = "\xE2\x80\xA2";

void watch_copy_text(char *target, size_t size, const char *text) {
    size_t length = 0;
    while (*text != 0 && length < size - 1) {
        bool is_bullet = strncmp(text, bullet, sizeof bullet - 1) == 0;
        target[length++] = is_bullet ? '*' : *text < ' ' || *text > '~' ? '?' : *text;
        text += is_bullet ? sizeof bullet - 1 : 1;
    }
    target[length] = 0;
}

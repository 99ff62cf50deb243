#define _GNU_SOURCE
#include "ccurl_memory.h"

#include <stdlib.h>
#include <string.h>

// glibc's calloc passes its per-thread cache by (until 2.41): it takes the arena's lock each time,
// and what is freed fills that cache up, so that free has to take it too. libcurl calls calloc some
// seventeen times for a request, once for each header field.
static void *zeroed(size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) return NULL;
    void *block = malloc(total);
    // Else the compiler makes a calloc of the two.
    __asm__("" : "+r"(block));
    return block ? memset(block, 0, total) : NULL;
}

CURLcode ccurl_global_init(void) {
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, free, realloc, strdup, zeroed);
}

#define _GNU_SOURCE
#include "ccurl_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// glibc keeps blocks of up to 1,032 bytes in a cache for each thread, but its calloc passes that by
// (until 2.41) and takes the arena's lock: libcurl calls it seventeen times for a request, and what
// it frees then fills the cache up. Larger blocks, such as the buffer of each transfer, are split
// off and merged again each time. So calloc is malloc here, and each thread keeps a few large blocks.
enum { CACHED_BY_LIBC = 1032, LARGEST_KEPT = 70000, KEPT = 4 };

struct kept {
    void *block;
    size_t size;
};

static __thread struct kept kept[KEPT];
static __thread int is_registered;
static pthread_key_t at_exit_of_thread;

static void forget(void *all) {
    for (struct kept *one = all; one < (struct kept *)all + KEPT; one++) {
        free(one->block);
        *one = (struct kept){0};
    }
    // What is freed on this thread from now on stays with nobody.
    is_registered = -1;
}

static void *take(size_t size) {
    if (size <= CACHED_BY_LIBC || size > LARGEST_KEPT) return malloc(size);
    for (struct kept *one = kept; one < kept + KEPT; one++) {
        if (!one->block || one->size < size || one->size > size + size / 8) continue;
        void *block = one->block;
        *one = (struct kept){0};
        return block;
    }
    return malloc(size);
}

static void give_back(void *block) {
    if (!block) return;
    size_t size = malloc_usable_size(block);
    if (size <= CACHED_BY_LIBC || size > LARGEST_KEPT || is_registered < 0) return free(block);
    if (!is_registered) {
        if (pthread_setspecific(at_exit_of_thread, kept)) return free(block);
        is_registered = 1;
    }
    for (struct kept *one = kept; one < kept + KEPT; one++) {
        if (one->block) continue;
        *one = (struct kept){block, size};
        return;
    }
    free(block);
}

static void *zeroed(size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) return NULL;
    void *block = take(total);
    // Else the compiler makes a calloc of the two.
    __asm__("" : "+r"(block));
    return block ? memset(block, 0, total) : NULL;
}

CURLcode ccurl_global_init(void) {
    if (pthread_key_create(&at_exit_of_thread, forget)) return CURLE_OUT_OF_MEMORY;
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, take, give_back, realloc, strdup, zeroed);
}

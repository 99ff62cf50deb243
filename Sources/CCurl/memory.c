#define _GNU_SOURCE
#include "ccurl_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// glibc keeps blocks of up to 1,032 bytes in a cache for each thread, but its calloc passes that by
// (until 2.41) and takes the arena's lock: libcurl calls it seventeen times for a request, and what
// it frees then fills the cache up. Larger blocks are split off and merged again each time. So calloc
// is malloc here, and each thread keeps blocks of the sizes that every transfer takes.
enum { CACHED_BY_LIBC = 1032, KINDS = 3, TOLERANCE = 64 };

static const struct kind {
    size_t least, size;
    int limit;
} kinds[KINDS] = {
    {CACHED_BY_LIBC + 1, 1536, 64},        // what libcurl knows of a connection
    {16 * 1024, 16 * 1024 + 64, 64},       // the usual receive buffer
    {64 * 1024, 64 * 1024 + 64, 2},        // that of a transfer without others beside it
};

struct kept {
    struct kept *next;
};

static __thread struct {
    struct kept *first[KINDS];
    int count[KINDS];
    // 0 until something is kept, -1 once the thread has begun to end.
    int state;
} own;
static pthread_key_t at_exit_of_thread;

static void forget(void *unused) {
    (void)unused;
    own.state = -1;
    for (int kind = 0; kind < KINDS; kind++) {
        while (own.first[kind]) {
            struct kept *block = own.first[kind];
            own.first[kind] = block->next;
            free(block);
        }
    }
}

static void *take(size_t size) {
    if (size <= CACHED_BY_LIBC) return malloc(size);
    for (int kind = 0; kind < KINDS; kind++) {
        if (size < kinds[kind].least || size > kinds[kind].size) continue;
        struct kept *block = own.first[kind];
        if (!block) return malloc(kinds[kind].size);
        own.first[kind] = block->next;
        own.count[kind]--;
        return block;
    }
    return malloc(size);
}

static int keep(void *block, int kind) {
    if (own.count[kind] == kinds[kind].limit || own.state < 0) return 0;
    if (!own.state && pthread_setspecific(at_exit_of_thread, &own)) return 0;
    own.state = 1;
    struct kept *kept = block;
    kept->next = own.first[kind];
    own.first[kind] = kept;
    own.count[kind]++;
    return 1;
}

static void give_back(void *block) {
    if (!block) return;
    size_t size = malloc_usable_size(block);
    if (size > CACHED_BY_LIBC)
        for (int kind = 0; kind < KINDS; kind++)
            if (size >= kinds[kind].size && size < kinds[kind].size + TOLERANCE
                && keep(block, kind))
                return;
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

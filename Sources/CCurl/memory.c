#define _GNU_SOURCE
#include "ccurl_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/// What hardly ever happens; what follows stays out of the way.
#define RARELY(condition) __builtin_expect(!!(condition), 0)

// glibc keeps seven blocks of each size up to 1,032 bytes in a cache for each thread, but its calloc
// passes that by (until 2.41) and takes the arena's lock: libcurl calls it seventeen times for a
// request, and what it frees then fills the cache up. Larger blocks are split off and merged again
// each time. So each thread keeps blocks of libcurl's here: small ones by their size, and of the sizes
// that every transfer takes, a connection's and the receive buffers'. All are malloc's own.
enum { SMALL = 520, STEP = 16, SMALL_KINDS = (SMALL + STEP - 1) / STEP, SMALL_LIMIT = 32 };
enum { LARGE_KINDS = 3, TOLERANCE = 64 };

static const struct kind {
    size_t least, size;
    int limit;
} large[LARGE_KINDS] = {
    {1024 + 9, 1536, 64},              // what libcurl knows of a connection
    {16 * 1024, 16 * 1024 + 64, 64},   // the usual receive buffer
    {64 * 1024, 64 * 1024 + 64, 2},    // that of a transfer without others beside it
};

struct kept {
    struct kept *next;
};

struct pile {
    struct kept *top;
    int count;
};

static __thread struct {
    struct pile small[SMALL_KINDS], large[LARGE_KINDS];
    // 0 until something is kept, -1 once the thread has begun to end.
    int state;
} own;
static pthread_key_t at_exit_of_thread;

static void *pop(struct pile *pile) {
    struct kept *block = pile->top;
    pile->top = block->next;
    pile->count--;
    return block;
}

static void forget(void *unused) {
    (void)unused;
    own.state = -1;
    for (int kind = 0; kind < SMALL_KINDS; kind++)
        while (own.small[kind].top) free(pop(&own.small[kind]));
    for (int kind = 0; kind < LARGE_KINDS; kind++)
        while (own.large[kind].top) free(pop(&own.large[kind]));
}

// What lies on a pile looks as if it were in use: where such things are checked, none is kept.
#if __has_feature(address_sanitizer)
enum { KEEPS = false };
#else
enum { KEEPS = true };
#endif

/// Puts a block on a pile; false when it has to go.
static bool keep(void *block, struct pile *pile, int limit) {
    if (!KEEPS) return false;
    if (RARELY(pile->count == limit)) return false;
    if (RARELY(own.state <= 0)) {
        if (own.state < 0 || pthread_setspecific(at_exit_of_thread, &own)) return false;
        own.state = 1;
    }
    struct kept *kept = block;
    kept->next = pile->top;
    pile->top = kept;
    pile->count++;
    return true;
}

static void *take(size_t size) {
    if (size <= SMALL) {
        // malloc's blocks have room for 24 bytes, 40, 56 and so on.
        size_t kind = size <= 24 ? 1 : (size + 7) / STEP;
        struct pile *pile = &own.small[kind];
        return pile->top ? pop(pile) : malloc(size);
    }
    for (int kind = 0; kind < LARGE_KINDS; kind++) {
        if (size < large[kind].least || size > large[kind].size) continue;
        return own.large[kind].top ? pop(&own.large[kind]) : malloc(large[kind].size);
    }
    return malloc(size);
}

static void give_back(void *block) {
    if (!block) return;
    size_t size = malloc_usable_size(block);
    // No more than it has room for, however that is rounded.
    size_t small = (size - 8) / STEP;
    if (small < SMALL_KINDS) {
        if (keep(block, &own.small[small], SMALL_LIMIT)) return;
    } else {
        for (int kind = 0; kind < LARGE_KINDS; kind++)
            if (size >= large[kind].size && size < large[kind].size + TOLERANCE &&
                keep(block, &own.large[kind], large[kind].limit))
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

static char *copied(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = take(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

CURLcode ccurl_global_init(void) {
    if (pthread_key_create(&at_exit_of_thread, forget)) return CURLE_OUT_OF_MEMORY;
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, take, give_back, realloc, copied, zeroed);
}

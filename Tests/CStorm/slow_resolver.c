#define _GNU_SOURCE
#include "slow_resolver.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int resolver(
    const char *restrict, const char *restrict, const struct addrinfo *restrict,
    struct addrinfo **restrict);

static atomic_long lookups;

long slow_lookups(void) {
    return atomic_load(&lookups);
}

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

static void wait_ms(long ms) {
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&rest, &rest) != 0) {}
}

// The program's definition goes before libc's for libcurl too.
int getaddrinfo(
    const char *restrict node, const char *restrict service,
    const struct addrinfo *restrict hints, struct addrinfo **restrict result) {
    resolver *system = (resolver *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (!system) return EAI_SYSTEM;
    const char *slow = node ? strstr(node, "slow-") : NULL;
    int is_loopback = slow && ends_with(slow, ".loopback.test");
    if (!slow || (!is_loopback && !ends_with(slow, ".nowhere.test"))) {
        return system(node, service, hints, result);
    }
    wait_ms(strtol(slow + strlen("slow-"), NULL, 10));
    atomic_fetch_add(&lookups, 1);
    return is_loopback ? system("127.0.0.1", service, hints, result) : EAI_AGAIN;
}

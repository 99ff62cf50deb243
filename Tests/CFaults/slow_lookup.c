#define _GNU_SOURCE
#include "lookup.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int system_lookup(
    const char *, const char *, const struct addrinfo *, struct addrinfo **);

static _Atomic(lookup_observer) current;

void observe_slow_lookups(lookup_observer observer) {
    atomic_store(&current, observer);
}

static _Atomic(lookup_addresses) listed;

void list_addresses(lookup_addresses addresses) {
    atomic_store(&listed, addresses);
}

/// Converts each address of a blank-separated list, in order, and frees the list.
static int look_up_all(
    system_lookup *system, char *addresses, const char *service, const struct addrinfo *hints,
    struct addrinfo **result) {
    struct addrinfo **end = result;
    char *rest = addresses;
    *result = NULL;
    for (char *address; (address = strsep(&rest, " "));) {
        if (system(address, service, hints, end) != 0) *end = NULL;
        while (*end) end = &(*end)->ai_next;
    }
    free(addresses);
    return *result ? 0 : EAI_NONAME;
}

static atomic_long late;

long late_lookups(void) { return atomic_load(&late); }

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

static void wait_ms(long ms) {
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&rest, &rest) != 0) {}
}

int getaddrinfo(
    const char *name, const char *service, const struct addrinfo *hints,
    struct addrinfo **result) {
    static const char suffix[] = ".slow.test";
    size_t length = name ? strlen(name) : 0;
    if (length >= sizeof suffix - 1 && !strcmp(name + length - (sizeof suffix - 1), suffix)) {
        lookup_observer observer = atomic_load(&current);
        if (observer) observer(name);
        return EAI_NONAME;
    }
    system_lookup *system = (system_lookup *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (!system) return EAI_SYSTEM;
    if (name && ends_with(name, ".listed.test")) {
        lookup_addresses addresses = atomic_load(&listed);
        char *text = addresses ? addresses(name) : NULL;
        return text ? look_up_all(system, text, service, hints, result) : EAI_NONAME;
    }
    const char *slow = name ? strstr(name, "slow-") : NULL;
    int is_loopback = slow && ends_with(slow, ".loopback.test");
    if (slow && (is_loopback || ends_with(slow, ".nowhere.test"))) {
        wait_ms(strtol(slow + strlen("slow-"), NULL, 10));
        atomic_fetch_add(&late, 1);
        return is_loopback ? system("127.0.0.1", service, hints, result) : EAI_AGAIN;
    }
    return system(name, service, hints, result);
}

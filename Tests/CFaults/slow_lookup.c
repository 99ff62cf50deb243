#define _GNU_SOURCE
#include "lookup.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <string.h>

typedef int system_lookup(
    const char *, const char *, const struct addrinfo *, struct addrinfo **);

static _Atomic(lookup_observer) current;

void observe_slow_lookups(lookup_observer observer) {
    atomic_store(&current, observer);
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
    return system ? system(name, service, hints, result) : EAI_SYSTEM;
}

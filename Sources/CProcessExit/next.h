/*
 * next.h - The functions of the C library that functions of the program replace.
 *
 * Symbols of the executable take precedence over the C library's, so a plugin that calls these is
 * reported. Calls within the C library and raw system calls do not come here.
 */
#ifndef CPROCESSEXIT_NEXT_H
#define CPROCESSEXIT_NEXT_H

#include <dlfcn.h>
#include <errno.h>

/* The C library's function of a name; NULL if it has none. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* As NEXT, but looked up once: for functions that are called often, or in signal handlers. */
#define NEXT_KEPT(name)                                                    \
    ({                                                                     \
        static __typeof__(&name) kept;                                     \
        __typeof__(&name) next = __atomic_load_n(&kept, __ATOMIC_ACQUIRE); \
        if (!next) {                                                       \
            next = NEXT(name);                                             \
            __atomic_store_n(&kept, next, __ATOMIC_RELEASE);               \
        }                                                                  \
        next;                                                              \
    })

/* Calls the C library's function; fails with ENOSYS if it has none. */
#define CALL_NEXT(name, arguments)                \
    do {                                          \
        __typeof__(&name) next = NEXT_KEPT(name); \
        if (next) return next arguments;          \
        errno = ENOSYS;                           \
        return -1;                                \
    } while (0)

/* Whether a sanitizer is used, which replaces many of these functions itself. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || defined(__SANITIZE_THREAD__) || \
    defined(__SANITIZE_ADDRESS__)
#define CPROCESSEXIT_SANITIZED 1
#else
#define CPROCESSEXIT_SANITIZED 0
#endif

#endif

#define _GNU_SOURCE
#include "CProcessExit.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "CPluginWatch.h"

/* Symbols of the executable take precedence over the C library's, so a plugin that calls these is
 * reported. Calls within the C library and raw system calls do not come here. */

/* The C library's function of a name; NULL if it has none. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((noreturn)) void _exit(int status) {
    for (;;) cpluginwatch_exit(status);
}

__attribute__((noreturn)) void _Exit(int status) {
    for (;;) cpluginwatch_exit(status);
}

__attribute__((noreturn)) void exit(int status) {
    cpluginwatch_exit_called();
    __typeof__(&exit) next = NEXT(exit);
    if (next) next(status);
    cpluginwatch_end(status);
}

int daemon(int keeps_directory, int keeps_streams) {
    if (cpluginwatch_daemon()) return -1;
    __typeof__(&daemon) next = NEXT(daemon);
    if (next) return next(keeps_directory, keeps_streams);
    errno = ENOSYS;
    return -1;
}

/* Sanitizers replace pthread_create() themselves. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*run)(void *),
                   void *restrict argument) {
    static cpluginwatch_thread_creator next;
    cpluginwatch_thread_creator create = __atomic_load_n(&next, __ATOMIC_ACQUIRE);
    if (!create) {
        create = (cpluginwatch_thread_creator)dlsym(RTLD_NEXT, "pthread_create");
        if (!create) return EAGAIN;
        __atomic_store_n(&next, create, __ATOMIC_RELEASE);
    }
    return cpluginwatch_create_thread(create, thread, attributes, run, argument,
                                      __builtin_return_address(0));
}
#endif

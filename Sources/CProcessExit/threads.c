#define _GNU_SOURCE
#include "CProcessExit.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

#include "CPluginWatch.h"
#include "next.h"

/* Some of the functions that are replaced are deprecated, or no longer declared. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
pid_t __vfork(void);
int __clone(int (*run)(void *), void *stack, int flags, void *argument, ...);

#if !CPROCESSEXIT_SANITIZED
static int create_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument,
                         const void *caller) {
    cpluginwatch_thread_creator create = NEXT_KEPT(pthread_create);
    if (!create) return EAGAIN;
    return cpluginwatch_create_thread(create, thread, attributes, run, argument, caller);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*run)(void *),
                   void *restrict argument) {
    return create_thread(thread, attributes, run, argument, __builtin_return_address(0));
}

/* Threads of C11 are those of POSIX, except that their function returns an int. */
int thrd_create(thrd_t *thread, thrd_start_t run, void *argument) {
    void *(*run_any)(void *) = (void *(*)(void *))(uintptr_t)run;
    switch (create_thread(thread, NULL, run_any, argument, __builtin_return_address(0))) {
    case 0: return thrd_success;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
    }
}

__attribute__((noreturn)) void pthread_exit(void *result) {
    cpluginwatch_thread_exit("pthread_exit()");
    __typeof__(&pthread_exit) next = NEXT_KEPT(pthread_exit);
    if (next) next(result);
    abort();
}

__attribute__((noreturn)) void thrd_exit(int result) {
    cpluginwatch_thread_exit("thrd_exit()");
    __typeof__(&thrd_exit) next = NEXT_KEPT(thrd_exit);
    if (next) next(result);
    abort();
}

int pthread_cancel(pthread_t thread) {
    if (pthread_equal(thread, pthread_self())) {
        cpluginwatch_cancel_self();
    } else {
        cpluginwatch_cancel_other(thread);
    }
    __typeof__(&pthread_cancel) next = NEXT_KEPT(pthread_cancel);
    return next ? next(thread) : ENOSYS;
}

static void report_cancel(void *unused) {
    (void)unused;
    cpluginwatch_thread_exit("pthread_cancel()");
}

/* Enables cancellation, and reports one that another thread has asked for before. */
static int enable_cancel(int (*next)(int, int *), int *former) {
    int status;
    pthread_cleanup_push(report_cancel, NULL);
    status = next(PTHREAD_CANCEL_ENABLE, former);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return status;
}

int pthread_setcancelstate(int state, int *former) {
    __typeof__(&pthread_setcancelstate) next = NEXT_KEPT(pthread_setcancelstate);
    if (!next) return ENOSYS;
    if (state == PTHREAD_CANCEL_ENABLE && cpluginwatch_enable_cancel()) return enable_cancel(next, former);
    if (state == PTHREAD_CANCEL_DISABLE) cpluginwatch_disable_cancel();
    return next(state, former);
}

int pthread_setattr_default_np(const pthread_attr_t *attributes) {
    if (cpluginwatch_refuses_defaults(__builtin_return_address(0))) return EPERM;
    __typeof__(&pthread_setattr_default_np) next = NEXT_KEPT(pthread_setattr_default_np);
    return next ? next(attributes) : ENOSYS;
}

/* No pthread_atfork() handlers run for this one. */
pid_t _Fork(void) {
    cpluginwatch_copies("_Fork()");
    CALL_NEXT(_Fork, ());
}

/* A child of vfork() runs in its parent's memory, so that one that returns from its plugin would end the call of
 * both. POSIX allows this to be the same as fork(). */
pid_t vfork(void) { return fork(); }
pid_t __vfork(void) { return fork(); }

/* Defines a function that starts a thread or copies the process. */
#define CLONE(name)                                                                     \
    int name(int (*run)(void *), void *stack, int flags, void *argument, ...) {         \
        va_list rest;                                                                   \
        va_start(rest, argument);                                                       \
        pid_t *parent = va_arg(rest, pid_t *);                                          \
        void *storage = va_arg(rest, void *);                                           \
        pid_t *child = va_arg(rest, pid_t *);                                           \
        va_end(rest);                                                                   \
        if (!(flags & CLONE_THREAD)) cpluginwatch_copies("clone()");                    \
        CALL_NEXT(name, (run, stack, flags, argument, parent, storage, child));         \
    }

CLONE(clone)
CLONE(__clone)
#endif

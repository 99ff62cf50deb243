#define _GNU_SOURCE
#include "CProcessExit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <ucontext.h>

#include "CPluginWatch.h"
#include "next.h"

/* Some of the functions that are replaced are deprecated, or no longer declared. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void __longjmp_chk(struct __jmp_buf_tag place[1], int value) __attribute__((noreturn));

#if !CPROCESSEXIT_SANITIZED
/* Defines a function that changes the blocked signals of the thread. */
#define SET_MASK(name, parameters, arguments, failure)      \
    int name parameters {                                   \
        __typeof__(&name) next = NEXT_KEPT(name);           \
        int status = next ? next arguments : failure;       \
        cpluginwatch_mask_set(__builtin_return_address(0)); \
        return status;                                      \
    }

SET_MASK(sigprocmask, (int how, const sigset_t *restrict set, sigset_t *restrict former), (how, set, former), -1)
SET_MASK(pthread_sigmask, (int how, const sigset_t *restrict set, sigset_t *restrict former), (how, set, former),
         ENOSYS)
SET_MASK(sighold, (int number), (number), -1)
SET_MASK(sigblock, (int mask), (mask), -1)
SET_MASK(sigsetmask, (int mask), (mask), -1)

/* Defines a function that jumps, and sets the mask that was saved with the place. */
#define JUMP(name)                                                                     \
    void name(struct __jmp_buf_tag place[1], int value) {                              \
        __typeof__(&name) next = NEXT_KEPT(name);                                      \
        cpluginwatch_will_set_mask(&place->__saved_mask, __builtin_return_address(0)); \
        if (next) next(place, value);                                                  \
        abort();                                                                       \
    }

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/* Contexts are not in constant memory: getcontext() has written them. */
int setcontext(const ucontext_t *context) {
    cpluginwatch_will_set_mask(&((ucontext_t *)(uintptr_t)context)->uc_sigmask, __builtin_return_address(0));
    CALL_NEXT(setcontext, (context));
}

int swapcontext(ucontext_t *restrict former, const ucontext_t *restrict context) {
    cpluginwatch_will_set_mask(&((ucontext_t *)(uintptr_t)context)->uc_sigmask, __builtin_return_address(0));
    CALL_NEXT(swapcontext, (former, context));
}

/* Defines a function that waits with other blocked signals. */
#define WAIT(name, parameters, arguments)                                       \
    int name parameters {                                                       \
        sigset_t other;                                                         \
        if (mask) {                                                             \
            other = *mask;                                                      \
            cpluginwatch_will_set_mask(&other, __builtin_return_address(0));    \
        }                                                                       \
        const sigset_t *used = mask ? &other : NULL;                            \
        CALL_NEXT(name, arguments);                                             \
    }

WAIT(ppoll, (struct pollfd *files, nfds_t count, const struct timespec *time, const sigset_t *mask),
     (files, count, time, used))
WAIT(pselect, (int count, fd_set *restrict reading, fd_set *restrict writing, fd_set *restrict failing,
               const struct timespec *restrict time, const sigset_t *restrict mask),
     (count, reading, writing, failing, time, used))
WAIT(epoll_pwait, (int file, struct epoll_event *events, int count, int time, const sigset_t *mask),
     (file, events, count, time, used))

int sigsuspend(const sigset_t *mask) {
    sigset_t other = *mask;
    cpluginwatch_will_set_mask(&other, __builtin_return_address(0));
    CALL_NEXT(sigsuspend, (&other));
}
#endif

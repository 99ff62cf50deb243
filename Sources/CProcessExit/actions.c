#define _GNU_SOURCE
#include "CProcessExit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "CPluginWatch.h"
#include "next.h"

/* Some of the functions that are replaced are deprecated, or no longer declared. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
int __sigaction(int number, const struct sigaction *action, struct sigaction *former);
sighandler_t bsd_signal(int number, sighandler_t handler);

#if !CPROCESSEXIT_SANITIZED
/* Defines a function that sets the action of a signal. */
#define SET_ACTION(name)                                                                               \
    int name(int number, const struct sigaction *restrict action, struct sigaction *restrict former) { \
        const void *caller = __builtin_return_address(0);                                              \
        if (cpluginwatch_set_action(number, action, former, caller)) return 0;                         \
        struct sigaction wanted;                                                                       \
        if (action) {                                                                                  \
            wanted = *action;                                                                          \
            cpluginwatch_will_set_mask(&wanted.sa_mask, caller);                                       \
        }                                                                                              \
        CALL_NEXT(name, (number, action ? &wanted : NULL, former));                                    \
    }

SET_ACTION(sigaction)
SET_ACTION(__sigaction)

/* Sets the handler of a signal, in the program by the function of the C library. */
static sighandler_t set_handler(int number, sighandler_t handler, int flags, sighandler_t (*next)(int, sighandler_t),
                                const void *caller) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, former;
    if (cpluginwatch_set_action(number, &action, &former, caller)) return former.sa_handler;
    if (next) return next(number, handler);
    errno = ENOSYS;
    return SIG_ERR;
}

/* Defines a function that sets the handler of a signal. */
#define SET_HANDLER(name, flags)                                                                  \
    sighandler_t name(int number, sighandler_t handler) {                                         \
        return set_handler(number, handler, flags, NEXT_KEPT(name), __builtin_return_address(0)); \
    }

SET_HANDLER(signal, SA_RESTART)
SET_HANDLER(ssignal, SA_RESTART)
SET_HANDLER(bsd_signal, SA_RESTART)
SET_HANDLER(sysv_signal, SA_RESETHAND | SA_NODEFER)
SET_HANDLER(__sysv_signal, SA_RESETHAND | SA_NODEFER)

sighandler_t sigset(int number, sighandler_t handler) {
    const void *caller = __builtin_return_address(0);
    __typeof__(&sigset) next = NEXT_KEPT(sigset);
    if (handler != SIG_HOLD || !next) {
        sigset_t mask, former_mask;
        sigemptyset(&mask);
        if (sigaddset(&mask, number) != 0 || pthread_sigmask(SIG_UNBLOCK, &mask, &former_mask) != 0) return SIG_ERR;
        sighandler_t former = set_handler(number, handler, 0, next, caller);
        return former != SIG_ERR && sigismember(&former_mask, number) == 1 ? SIG_HOLD : former;
    }
    /* This one blocks the signal. */
    sighandler_t former = next(number, handler);
    cpluginwatch_mask_set(caller);
    return former;
}

int sigignore(int number) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    if (cpluginwatch_set_action(number, &action, NULL, __builtin_return_address(0))) return 0;
    CALL_NEXT(sigignore, (number));
}

int sigaltstack(const stack_t *restrict stack, stack_t *restrict former) {
    if (stack && cpluginwatch_keeps_stack(__builtin_return_address(0))) stack = NULL;
    CALL_NEXT(sigaltstack, (stack, former));
}

int sigstack(struct sigstack *stack, struct sigstack *former) {
    if (stack && cpluginwatch_keeps_stack(__builtin_return_address(0))) stack = NULL;
    CALL_NEXT(sigstack, (stack, former));
}
#endif

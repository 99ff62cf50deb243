#define _GNU_SOURCE
#include "CProcessExit.h"

#include <aio.h>
#include <errno.h>
#include <mqueue.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "CPluginWatch.h"
#include "next.h"
#include "signals.h"

/* Some of the functions that are replaced are deprecated, or no longer declared. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Defines a function that sends a signal, to this process if the condition holds. */
#define SEND(name, parameters, arguments, condition)                                  \
    int name parameters {                                                             \
        if (condition) cpluginwatch_signal_sent(number, __builtin_return_address(0)); \
        CALL_NEXT(name, arguments);                                                   \
    }

SEND(kill, (pid_t process, int number), (process, number), is_this(process))
SEND(killpg, (pid_t group, int number), (group, number), group == 0 || group == getpgrp())
SEND(raise, (int number), (number), true)
SEND(gsignal, (int number), (number), true)
SEND(tgkill, (pid_t process, pid_t thread, int number), (process, thread, number), process == getpid())
SEND(pthread_kill, (pthread_t thread, int number), (thread, number), true)
SEND(sigqueue, (pid_t process, int number, const union sigval value), (process, number, value), is_this(process))
SEND(pthread_sigqueue, (pthread_t thread, int number, const union sigval value), (thread, number, value), true)

int pidfd_send_signal(int descriptor, int number, siginfo_t *facts, unsigned flags) {
    if (is_own(descriptor)) cpluginwatch_signal_sent(number, __builtin_return_address(0));
    CALL_NEXT(pidfd_send_signal, (descriptor, number, facts, flags));
}

int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer) {
    look_at_event(event, __builtin_return_address(0));
    CALL_NEXT(timer_create, (clock, event, timer));
}

int mq_notify(mqd_t queue, const struct sigevent *event) {
    look_at_event(event, __builtin_return_address(0));
    CALL_NEXT(mq_notify, (queue, event));
}

/* Defines a function that reads or writes, and lets a signal be sent then. */
#define TRANSFER(name, type)                                              \
    int name(struct type *block) {                                        \
        look_at_event(&block->aio_sigevent, __builtin_return_address(0)); \
        CALL_NEXT(name, (block));                                         \
    }

TRANSFER(aio_read, aiocb)
TRANSFER(aio_read64, aiocb64)
TRANSFER(aio_write, aiocb)
TRANSFER(aio_write64, aiocb64)

/* Defines a function that synchronizes a file, and lets a signal be sent then. */
#define SYNCHRONIZE(name, type)                                           \
    int name(int operation, struct type *block) {                         \
        look_at_event(&block->aio_sigevent, __builtin_return_address(0)); \
        CALL_NEXT(name, (operation, block));                              \
    }

SYNCHRONIZE(aio_fsync, aiocb)
SYNCHRONIZE(aio_fsync64, aiocb64)

/* Defines a function that reads and writes, and lets signals be sent for the parts and for the whole. */
#define TRANSFER_ALL(name, type)                                                               \
    int name(int mode, struct type *const blocks[], int count, struct sigevent *event) {       \
        const void *caller = __builtin_return_address(0);                                      \
        for (int i = 0; i < count; i++)                                                        \
            if (blocks[i]) look_at_event(&blocks[i]->aio_sigevent, caller);                    \
        look_at_event(event, caller);                                                          \
        CALL_NEXT(name, (mode, blocks, count, event));                                         \
    }

TRANSFER_ALL(lio_listio, aiocb)
TRANSFER_ALL(lio_listio64, aiocb64)

int getaddrinfo_a(int mode, struct gaicb *list[], int count, struct sigevent *event) {
    look_at_event(event, __builtin_return_address(0));
    __typeof__(&getaddrinfo_a) next = NEXT_KEPT(getaddrinfo_a);
    return next ? next(mode, list, count, event) : EAI_SYSTEM;
}

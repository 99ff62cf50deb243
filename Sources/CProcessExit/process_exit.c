#define _GNU_SOURCE
#include "CProcessExit.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CPluginWatch.h"

/* Symbols of the executable take precedence over the C library's, so a plugin that calls these is
 * reported. Calls within the C library and raw system calls do not come here. */

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
    CALL_NEXT(daemon, (keeps_directory, keeps_streams));
}

/* Defines an exec function, whose parameters and arguments are passed in parentheses. */
#define EXEC(name, parameters, arguments) \
    int name parameters {                 \
        cpluginwatch_exec();              \
        CALL_NEXT(name, arguments);       \
    }

EXEC(execve, (const char *path, char *const list[], char *const values[]), (path, list, values))
EXEC(execv, (const char *path, char *const list[]), (path, list))
EXEC(execvp, (const char *file, char *const list[]), (file, list))
EXEC(execvpe, (const char *file, char *const list[], char *const values[]), (file, list, values))
EXEC(fexecve, (int file, char *const list[], char *const values[]), (file, list, values))

/* Defines a variadic exec function, which passes its arguments, up to a null pointer, as a list. */
#define EXEC_LIST(name, call)                                                            \
    int name(const char *file, const char *first, ...) {                                 \
        va_list rest;                                                                    \
        size_t count = 1;                                                                \
        va_start(rest, first);                                                           \
        for (const char *next = first; next; next = va_arg(rest, const char *)) count++; \
        va_end(rest);                                                                    \
        char *list[count];                                                               \
        va_start(rest, first);                                                           \
        list[0] = (char *)first;                                                         \
        for (size_t i = 1; i < count; i++) list[i] = va_arg(rest, char *);               \
        int status = call;                                                               \
        va_end(rest);                                                                    \
        return status;                                                                   \
    }

EXEC_LIST(execl, execv(file, list))
EXEC_LIST(execlp, execvp(file, list))
EXEC_LIST(execle, execve(file, list, va_arg(rest, char *const *)))

/* Whether a process id of kill() means this process, possibly among others. */
static bool is_this(pid_t process) {
    return process == getpid() || process == 0 || process == -1 || process == -getpgrp();
}

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

/* The wrapper of system calls: those that the functions above make, too, are looked at. */
long syscall(long call, ...) {
    long list[6];
    va_list rest;
    va_start(rest, call);
    for (size_t i = 0; i < 6; i++) list[i] = va_arg(rest, long);
    va_end(rest);
    const void *caller = __builtin_return_address(0);
    switch (call) {
    case SYS_exit_group: cpluginwatch_exit_group(caller); break;
    case SYS_execve:
    case SYS_execveat: cpluginwatch_exec(); break;
    case SYS_kill:
        if (is_this((pid_t)list[0])) cpluginwatch_signal_sent((int)list[1], caller);
        break;
    case SYS_tkill: cpluginwatch_signal_sent((int)list[1], caller); break;
    case SYS_tgkill:
        if ((pid_t)list[0] == getpid()) cpluginwatch_signal_sent((int)list[2], caller);
        break;
    }
    CALL_NEXT(syscall, (call, list[0], list[1], list[2], list[3], list[4], list[5]));
}

/* Sanitizers replace the following functions themselves. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*run)(void *),
                   void *restrict argument) {
    cpluginwatch_thread_creator create = NEXT_KEPT(pthread_create);
    if (!create) return EAGAIN;
    return cpluginwatch_create_thread(create, thread, attributes, run, argument,
                                      __builtin_return_address(0));
}

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict former) {
    if (cpluginwatch_set_action(number, action, former, __builtin_return_address(0))) return 0;
    CALL_NEXT(sigaction, (number, action, former));
}

/* Defines a function that sets the handler of a signal. */
#define SET_HANDLER(name, flags)                                                              \
    sighandler_t name(int number, sighandler_t handler) {                                     \
        struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, former;         \
        if (cpluginwatch_set_action(number, &action, &former, __builtin_return_address(0))) { \
            return former.sa_handler;                                                         \
        }                                                                                     \
        sighandler_t (*next)(int, sighandler_t);                                              \
        next = (sighandler_t(*)(int, sighandler_t))dlsym(RTLD_NEXT, #name);                   \
        if (next) return next(number, handler);                                               \
        errno = ENOSYS;                                                                       \
        return SIG_ERR;                                                                       \
    }

SET_HANDLER(signal, SA_RESTART)
SET_HANDLER(ssignal, SA_RESTART)
SET_HANDLER(sysv_signal, SA_RESETHAND)
SET_HANDLER(__sysv_signal, SA_RESETHAND)
SET_HANDLER(sigset, 0)

int sigaltstack(const stack_t *restrict stack, stack_t *restrict former) {
    if (stack && cpluginwatch_keeps_stack(__builtin_return_address(0))) stack = NULL;
    CALL_NEXT(sigaltstack, (stack, former));
}
#endif

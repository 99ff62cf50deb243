#define _GNU_SOURCE
#include "CProcessExit.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <mntent.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "CPluginWatch.h"

/* Some of the functions that are replaced are deprecated, or no longer declared. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
int __close(int descriptor);
int __dup2(int descriptor, int target);
int _IO_fclose(FILE *file);
int _IO_file_close(FILE *file);
int _IO_file_close_it(FILE *file);
pid_t __vfork(void);
int __clone(int (*run)(void *), void *stack, int flags, void *argument, ...);
/* Not those of <dirent.h>, after which the compiler removes the test for NULL that closedir() makes. */
int closedir(void *directory);
int dirfd(void *directory);
int __sigaction(int number, const struct sigaction *action, struct sigaction *former);
sighandler_t bsd_signal(int number, sighandler_t handler);
void __longjmp_chk(struct __jmp_buf_tag place[1], int value) __attribute__((noreturn));

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
    cpluginwatch_exit_called(status);
    __typeof__(&exit) next = NEXT(exit);
    if (next) next(status);
    cpluginwatch_end(status);
}

/* Destructors of a plugin run when the handlers of at_quick_exit() have been removed. */
__attribute__((noreturn)) void quick_exit(int status) {
    cpluginwatch_quick_exit_called();
    __typeof__(&quick_exit) next = NEXT(quick_exit);
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
EXEC(execveat, (int directory, const char *path, char *const list[], char *const values[], int flags),
     (directory, path, list, values, flags))
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

/* Whether a descriptor of a process (pidfd_open()) is that of this process. */
static bool is_own(int descriptor) {
    char path[32], line[64];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    int process = 0;
    while (!process && fgets(line, sizeof line, file))
        if (sscanf(line, "Pid: %d", &process) != 1) process = 0;
    fclose(file);
    return process == getpid();
}

int pidfd_send_signal(int descriptor, int number, siginfo_t *facts, unsigned flags) {
    if (is_own(descriptor)) cpluginwatch_signal_sent(number, __builtin_return_address(0));
    CALL_NEXT(pidfd_send_signal, (descriptor, number, facts, flags));
}

/* Looks at an event that a timer or a queue is made for. */
static void look_at_event(const struct sigevent *event, const void *caller) {
    if (!event || event->sigev_notify == SIGEV_NONE || event->sigev_notify == SIGEV_THREAD) return;
    cpluginwatch_signal_asked(event->sigev_signo, caller);
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

/* Whether the first word of the arguments of clone3() asks for a thread. */
static bool is_thread(const uint64_t *arguments) { return arguments && (*arguments & CLONE_THREAD); }

/* Whether a plugin may not close a descriptor, or a range of them. */
static bool refuses(long descriptor, const void *caller) {
    return cpluginwatch_refuses_close((unsigned)descriptor, (unsigned)descriptor, caller);
}

static bool refuses_range(unsigned first, unsigned last, int flags, const void *caller) {
    return !(flags & CLOSE_RANGE_CLOEXEC) && cpluginwatch_refuses_close(first, last, caller);
}

/* The action of a signal in the form of the kernel. */
struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* Sets the action of a signal as cpluginwatch_set_action() does. */
static bool set_action(int number, const struct kernel_action *action, struct kernel_action *former,
                       const void *caller) {
    struct sigaction wanted = {0}, before;
    if (action) {
        wanted.sa_sigaction = action->handler;
        wanted.sa_flags = (int)action->flags;
    }
    if (!cpluginwatch_set_action(number, action ? &wanted : NULL, &before, caller)) return false;
    if (former) {
        memset(former, 0, sizeof *former);
        former->handler = before.sa_sigaction;
        former->flags = (unsigned)before.sa_flags;
    }
    return true;
}

/* The wrapper of system calls: those that the other functions here make, too, are looked at. */
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
    case SYS_rt_sigqueueinfo:
        if (is_this((pid_t)list[0])) cpluginwatch_signal_sent((int)list[1], caller);
        break;
    case SYS_rt_tgsigqueueinfo:
        if ((pid_t)list[0] == getpid()) cpluginwatch_signal_sent((int)list[2], caller);
        break;
    case SYS_pidfd_send_signal:
        if (is_own((int)list[0])) cpluginwatch_signal_sent((int)list[1], caller);
        break;
    case SYS_timer_create:
    case SYS_mq_notify: look_at_event((const struct sigevent *)list[1], caller); break;
    case SYS_fcntl:
        if (list[1] == F_SETSIG) cpluginwatch_signal_asked((int)list[2], caller);
        break;
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork: cpluginwatch_copies("fork()"); break;
#endif
    case SYS_clone:
        if (!(list[0] & CLONE_THREAD)) cpluginwatch_copies("clone()");
        break;
    case SYS_clone3:
        if (!is_thread((const uint64_t *)list[0])) cpluginwatch_copies("clone3()");
        break;
    case SYS_close:
        if (refuses(list[0], caller)) return -1;
        break;
#ifdef SYS_dup2
    case SYS_dup2:
        if (list[0] != list[1] && refuses(list[1], caller)) return -1;
        break;
#endif
    case SYS_dup3:
        if (refuses(list[1], caller)) return -1;
        break;
    case SYS_close_range:
        if (refuses_range((unsigned)list[0], (unsigned)list[1], (int)list[2], caller)) return -1;
        break;
    case SYS_rt_sigaction:
        if (set_action((int)list[0], (const struct kernel_action *)list[1], (struct kernel_action *)list[2], caller)) {
            return 0;
        }
        break;
    case SYS_ptrace:
        if (list[0] == PTRACE_TRACEME && cpluginwatch_refuses_trace(caller)) return -1;
        break;
    case SYS_rt_sigprocmask: {
        __typeof__(&syscall) next = NEXT_KEPT(syscall);
        long status = next ? next(call, list[0], list[1], list[2], list[3]) : -1;
        cpluginwatch_mask_set(caller);
        return status;
    }
    }
    CALL_NEXT(syscall, (call, list[0], list[1], list[2], list[3], list[4], list[5]));
}

long ptrace(enum __ptrace_request request, ...) {
    va_list rest;
    va_start(rest, request);
    pid_t process = va_arg(rest, pid_t);
    void *address = va_arg(rest, void *);
    void *data = va_arg(rest, void *);
    va_end(rest);
    if (request == PTRACE_TRACEME && cpluginwatch_refuses_trace(__builtin_return_address(0))) return -1;
    CALL_NEXT(ptrace, (request, process, address, data));
}

/* Sanitizers replace the following functions themselves. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
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

/* Defines a function that opens a descriptor. */
#define OPEN(name, parameters, arguments)                             \
    int name parameters {                                             \
        __typeof__(&name) next = NEXT_KEPT(name);                     \
        int descriptor = next ? next arguments : -1;                  \
        cpluginwatch_opened(descriptor, __builtin_return_address(0)); \
        return descriptor;                                            \
    }

OPEN(socket, (int domain, int type, int protocol), (domain, type, protocol))
OPEN(eventfd, (unsigned value, int flags), (value, flags))
OPEN(epoll_create1, (int flags), (flags))
OPEN(timerfd_create, (clockid_t clock, int flags), (clock, flags))
OPEN(mkstemp, (char *path), (path))
OPEN(memfd_create, (const char *name, unsigned flags), (name, flags))
OPEN(dup, (int other), (other))
OPEN(accept, (int listener, struct sockaddr *restrict address, socklen_t *restrict size), (listener, address, size))
OPEN(accept4, (int listener, struct sockaddr *restrict address, socklen_t *restrict size, int flags),
     (listener, address, size, flags))

/* Defines a function that opens two descriptors. */
#define OPEN_TWO(name, parameters, arguments)                          \
    int name parameters {                                              \
        __typeof__(&name) next = NEXT_KEPT(name);                      \
        int status = next ? next arguments : -1;                       \
        for (int i = 0; status == 0 && i < 2; i++) {                   \
            cpluginwatch_opened(ends[i], __builtin_return_address(0)); \
        }                                                              \
        return status;                                                 \
    }

OPEN_TWO(pipe, (int ends[2]), (ends))
OPEN_TWO(pipe2, (int ends[2], int flags), (ends, flags))
OPEN_TWO(socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends))

/* Defines a function that opens a file; the mode of a new file is its last argument. */
#define OPEN_FILE(name, parameters, last, arguments)                       \
    int name parameters {                                                  \
        va_list rest;                                                      \
        va_start(rest, last);                                              \
        mode_t mode = __OPEN_NEEDS_MODE(flags) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                      \
        __typeof__(&name) next = NEXT_KEPT(name);                          \
        int descriptor = next ? next arguments : -1;                       \
        cpluginwatch_opened(descriptor, __builtin_return_address(0));      \
        return descriptor;                                                 \
    }

OPEN_FILE(open, (const char *path, int flags, ...), flags, (path, flags, mode))
OPEN_FILE(open64, (const char *path, int flags, ...), flags, (path, flags, mode))
OPEN_FILE(openat, (int directory, const char *path, int flags, ...), flags, (directory, path, flags, mode))
OPEN_FILE(openat64, (int directory, const char *path, int flags, ...), flags, (directory, path, flags, mode))

/* Defines a function that takes an integer or a pointer. */
#define CONTROL(name)                                                                                  \
    int name(int descriptor, int command, ...) {                                                       \
        const void *caller = __builtin_return_address(0);                                              \
        va_list rest;                                                                                  \
        va_start(rest, command);                                                                       \
        void *argument = va_arg(rest, void *);                                                         \
        va_end(rest);                                                                                  \
        if (command == F_SETSIG) cpluginwatch_signal_asked((int)(intptr_t)argument, caller);           \
        __typeof__(&name) next = NEXT_KEPT(name);                                                      \
        int result = next ? next(descriptor, command, argument) : -1;                                  \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) cpluginwatch_opened(result, caller);     \
        return result;                                                                                 \
    }

CONTROL(fcntl)
CONTROL(fcntl64)

/* The descriptor of a stream; -1 for none. Keeps errno. */
static int descriptor_of(FILE *file) {
    int error = errno, descriptor = fileno(file);
    errno = error;
    return descriptor;
}

/* Defines a function that closes a descriptor. */
#define CLOSE(name, result, failure, parameters, descriptor, arguments)       \
    result name parameters {                                                  \
        if (refuses(descriptor, __builtin_return_address(0))) return failure; \
        __typeof__(&name) next = NEXT_KEPT(name);                             \
        return next ? next arguments : failure;                               \
    }

CLOSE(close, int, -1, (int descriptor), descriptor, (descriptor))
CLOSE(__close, int, -1, (int descriptor), descriptor, (descriptor))
CLOSE(fclose, int, EOF, (FILE *file), descriptor_of(file), (file))
CLOSE(_IO_fclose, int, EOF, (FILE *file), descriptor_of(file), (file))
CLOSE(_IO_file_close, int, -1, (FILE *file), descriptor_of(file), (file))
CLOSE(_IO_file_close_it, int, EOF, (FILE *file), descriptor_of(file), (file))
CLOSE(pclose, int, -1, (FILE *file), descriptor_of(file), (file))
CLOSE(endmntent, int, 1, (FILE *file), descriptor_of(file), (file))
CLOSE(closedir, int, -1, (void *directory), directory ? dirfd(directory) : -1, (directory))
CLOSE(freopen, FILE *, NULL, (const char *restrict path, const char *restrict mode, FILE *restrict file),
      descriptor_of(file), (path, mode, file))
CLOSE(freopen64, FILE *, NULL, (const char *restrict path, const char *restrict mode, FILE *restrict file),
      descriptor_of(file), (path, mode, file))
CLOSE(dup3, int, -1, (int descriptor, int target, int flags), target, (descriptor, target, flags))

int close_range(unsigned first, unsigned last, int flags) {
    if (refuses_range(first, last, flags, __builtin_return_address(0))) return -1;
    CALL_NEXT(close_range, (first, last, flags));
}

void closefrom(int first) {
    if (refuses_range(first < 0 ? 0 : (unsigned)first, ~0U, 0, __builtin_return_address(0))) return;
    __typeof__(&closefrom) next = NEXT_KEPT(closefrom);
    if (next) next(first);
}

int dup2(int descriptor, int target) {
    if (descriptor != target && refuses(target, __builtin_return_address(0))) return -1;
    CALL_NEXT(dup2, (descriptor, target));
}

int __dup2(int descriptor, int target) {
    if (descriptor != target && refuses(target, __builtin_return_address(0))) return -1;
    CALL_NEXT(__dup2, (descriptor, target));
}

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

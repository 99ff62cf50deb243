/* Does not return from the hook that its configuration names ("hook"), or ends, crashes or
 * changes the process there ("how"). If the request cannot continue, the program must name the
 * plugin and the hook. */
#define _GNU_SOURCE
#include "faulty.h"
/* Files are closed with functions for others. */
#pragma GCC diagnostic ignored "-Wmismatched-dealloc"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <mntent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

struct hanging {
    outlet_instance base;
    char hook[16];
    char how[24];
};

/* Overflows the stack: with a depth of 2^20 it needs at least 64 GiB. */
static int overflow(volatile const char *last, size_t depth) {
    volatile char bytes[65536];
    bytes[0] = *last;
    return depth == 0 ? 0 : overflow(bytes, depth - 1) + bytes[0];
}

/* Starts a program and waits for it, and tries to start one that does not exist; both are allowed. */
static int spawn(void) {
    char *const words[] = {"sh", "-c", "exit 5", NULL};
    pid_t child;
    int status;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) != 0) return OUTLET_E_FAILED;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return OUTLET_E_FAILED;
    if (WEXITSTATUS(status) != 5) return OUTLET_E_FAILED;
    int error = posix_spawn(&child, "/nonexistent/program", NULL, NULL, words, environ);
    return error == ENOENT ? OUTLET_OK : OUTLET_E_FAILED;
}

static void *leave(void *data) {
    (void)data;
    _exit(0);
}

static void *copy(void *data) {
    if (fork() == 0) _exit(0);
    return data;
}

static void *use_up_stack(void *data) {
    overflow("", 1 << 20);
    return data;
}

/* Runs a function in a thread and waits for its end. */
static outlet_status run(void *(*function)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, NULL) != 0) return OUTLET_E_FAILED;
    return pthread_join(thread, NULL) == 0 ? OUTLET_OK : OUTLET_E_FAILED;
}

/* Runs when a thread ends, after its function. */
static void fault(void *value) {
    (void)value;
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static int fault_in_c11(void *data) {
    fault(data);
    return 0;
}

static void block_all(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static void *block_and_fault(void *data) {
    block_all();
    fault(data);
    return data;
}

static void *fault_at_end(void *data) {
    pthread_key_t key;
    if (pthread_key_create(&key, fault) == 0) pthread_setspecific(key, &key);
    return data;
}

static sigjmp_buf recovery;
static volatile sig_atomic_t caught;

static void recover(int number) {
    caught = number;
    siglongjmp(recovery, 1);
}
static void note(int number) { caught = number; }
static void fault_again(int number) {
    (void)number;
    fault(NULL);
}
static void end_by_default(int number) {
    signal(number, SIG_DFL);
    raise(number);
}

/* Catches two faults with a handler of its own. */
static outlet_status catch_faults(void) {
    struct sigaction former, action = {.sa_handler = recover};
    for (int i = 0; i < 2; i++) {
        caught = 0;
        if (sigaction(SIGSEGV, &action, &former) != 0) return OUTLET_E_FAILED;
        if (sigsetjmp(recovery, 1) == 0) fault(NULL);
        sigaction(SIGSEGV, &former, NULL);
        if (caught != SIGSEGV || former.sa_handler != SIG_DFL) return OUTLET_E_FAILED;
    }
    return OUTLET_OK;
}

/* Sends itself a signal that its handler takes; in a thread that blocks it, it stays pending. */
static outlet_status catch_signal(void) {
    struct sigaction former, action = {.sa_handler = note};
    if (sigaction(SIGUSR1, &action, &former) != 0 || raise(SIGUSR1) != 0) return OUTLET_E_FAILED;
    sigaction(SIGUSR1, &former, NULL);
    /* Ignored unless a handler is set. */
    return kill(getpid(), SIGURG) == 0 ? OUTLET_OK : OUTLET_E_FAILED;
}

/* Writes a control sequence to both standard streams. */
static int print(const char *text) {
    for (int descriptor = STDOUT_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        char line[64];
        int length = snprintf(line, sizeof line, "\033[31m%s %d\033]0;x\a\n", text, descriptor);
        if (write(descriptor, line, (size_t)length) != length) return OUTLET_E_FAILED;
    }
    return OUTLET_OK;
}

static void print_at_exit(void) { print("late"); }
static void leave_at_exit(void) { _exit(0); }
static void exit_at_exit(void) { exit(0); }
static void *end_thread(void *value) { pthread_exit(value); }
static void hang_at_exit(void) {
    for (;;) pause();
}

int __close(int descriptor);

/* Closes all descriptors from 3 on, each in the way that the name says. */
static void close_by(const char *how) {
    for (int descriptor = 3; descriptor < 1024; descriptor++) {
        int flags = fcntl(descriptor, F_GETFL);
        if (flags < 0) continue;
        if (strcmp(how, "__close") == 0) __close(descriptor);
        if (strcmp(how, "dup3") == 0) syscall(SYS_dup3, STDERR_FILENO, descriptor, 0);
        if (strcmp(how, "fclose") == 0) {
            FILE *file = fdopen(descriptor, (flags & O_ACCMODE) == O_WRONLY ? "w" : "r");
            if (file != NULL) fclose(file);
        }
        if (strcmp(how, "pclose") == 0 || strcmp(how, "endmntent") == 0) {
            FILE *file = fdopen(descriptor, (flags & O_ACCMODE) == O_WRONLY ? "w" : "r");
            if (file != NULL && strcmp(how, "pclose") == 0) pclose(file);
            if (file != NULL && strcmp(how, "endmntent") == 0) endmntent(file);
        }
    }
}

/* Opens and closes descriptors of its own, in many ways; repeatedly, so that it gets numbers which others had. */
static outlet_status close_own(void) {
    int failures = 0;
    for (int i = 0; i < 100; i++) {
        int ends[2], pair[2];
        if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return OUTLET_E_FAILED;
        int all[] = {open("/dev/null", O_RDONLY), socket(AF_INET, SOCK_STREAM, 0), epoll_create(1),
                     eventfd(0, 0), timerfd_create(CLOCK_MONOTONIC, 0), memfd_create("own", 0),
                     dup(STDERR_FILENO), ends[1], pair[0], pair[1]};
        FILE *file = fopen("/dev/null", "r"), *pipe_end = fdopen(ends[0], "r");
        DIR *directory = opendir("/");
        failures += dup2(all[0], all[1]) != all[1];
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) failures += close(all[k]) != 0;
        failures += fclose(file) != 0 || fclose(pipe_end) != 0 || closedir(directory) != 0;
    }
    return failures == 0 ? OUTLET_OK : OUTLET_E_FAILED;
}

/* Overwrites what the C library keeps of the thread, or its thread-local storage; or makes both unreadable. */
static void overwrite(const char *how) {
    char *own = (char *)pthread_self();
    if (strcmp(how, "overwrite_own") == 0) memset(own, 0xFF, 1024);
    if (strcmp(how, "overwrite_local") == 0) memset(own - 2048, 0xFF, 3072);
#if defined(__x86_64__)
    /* In machine code, because the C library's function stores errno. The number is that of arch_prctl(), 0x1002
     * stands for the address of the thread's storage. */
    if (strcmp(how, "overwrite_base") == 0) {
        long result = 158;
        __asm__ volatile("syscall" : "+a"(result) : "D"(0x1002L), "S"(8L) : "rcx", "r11", "memory");
    }
#endif
}

static void *overwrite_and_fault(void *data) {
    overwrite("overwrite_own");
    fault(data);
    return data;
}

/* Lets several threads crash at the same time. */
static pthread_barrier_t crashing;

static void *fault_with_others(void *data) {
    pthread_barrier_wait(&crashing);
    fault(data);
    return data;
}

static outlet_status fault_together(void) {
    enum { count = 16 };
    pthread_t thread;
    pthread_barrier_init(&crashing, NULL, count);
    for (int i = 0; i < count; i++) {
        if (pthread_create(&thread, NULL, fault_with_others, NULL) != 0) return OUTLET_E_FAILED;
    }
    pthread_join(thread, NULL);
    return OUTLET_OK;
}

/* Cancels the thread of the hook from another one, once that can be cancelled, or before. */
static pthread_t cancelled;
static atomic_bool is_cancellable;

static void *cancel_other(void *data) {
    while (data != NULL && !is_cancellable) sched_yield();
    pthread_cancel(cancelled);
    return NULL;
}

static outlet_status let_cancel(int is_first) {
    pthread_t thread;
    int state;
    cancelled = pthread_self();
    if (pthread_create(&thread, NULL, cancel_other, is_first ? &thread : NULL) != 0) return OUTLET_E_FAILED;
    if (!is_first) pthread_join(thread, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    is_cancellable = true;
    for (;;) pause();
}

/* Ends the thread with functions of the C library that it looks up behind the program's. */
static void end_thread_unseen(const char *how) {
    void *library = dlopen("libc.so.6", RTLD_NOW);
    if (strcmp(how, "unseen_exit") == 0) {
        void (*end)(void *);
        *(void **)&end = dlsym(library, "pthread_exit");
        end(NULL);
    }
    int (*enable)(int, int *), (*cancel)(pthread_t), state;
    *(void **)&enable = dlsym(library, "pthread_setcancelstate");
    *(void **)&cancel = dlsym(library, "pthread_cancel");
    enable(PTHREAD_CANCEL_ENABLE, &state);
    cancel(pthread_self());
    for (;;) pause();
}

/* Cancels the thread of the hook from another one, which has no effect while that cannot be cancelled. */
static outlet_status cancel_in_vain(void) {
    cancelled = pthread_self();
    pthread_t thread;
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (pthread_create(&thread, NULL, cancel_other, NULL) != 0) return OUTLET_E_FAILED;
    return pthread_join(thread, NULL) == 0 ? OUTLET_OK : OUTLET_E_FAILED;
}

/* Reads all of the standard input. */
static outlet_status read_input(void) {
    char bytes[256];
    ssize_t count;
    do {
        count = read(STDIN_FILENO, bytes, sizeof bytes);
    } while (count > 0);
    return count == 0 ? OUTLET_OK : OUTLET_E_FAILED;
}

static const uint64_t aligned[2];

/* Set by "mask": the next hook crashes. */
static int is_masked;
/* Set by "x87_full": the next hook computes on the x87, which must have room again. */
static int is_full;

static int computes_wrongly(void) {
    volatile long double a = 1.5L, b = 2;
    return a * b + a != 4.5L;
}

static outlet_status hang_in(outlet_instance *self, const char *hook) {
    if (is_masked || (is_full && computes_wrongly())) abort();
    if (strcmp(((struct hanging *)self)->hook, hook) != 0) return OUTLET_OK;
    const char *how = ((struct hanging *)self)->how;
    if (strcmp(how, "exit") == 0) exit(0);
    if (strcmp(how, "quick_exit") == 0) quick_exit(0);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "fault") == 0) fault(NULL);
    /* The following take away what the report of a crash needs, or deal with signals themselves. */
    if (strcmp(how, "default_fault") == 0) {
        struct sigaction action = {.sa_handler = SIG_DFL};
        sigaction(SIGSEGV, &action, NULL);
        fault(NULL);
    }
    if (strcmp(how, "syscall_fault") == 0) {
        /* The kernel's form of SIG_DFL: handler, flags, restorer, mask. */
        static const uint64_t action[4];
        syscall(SYS_rt_sigaction, SIGSEGV, action, NULL, sizeof action[3]);
        fault(NULL);
    }
#if defined(__x86_64__)
    if (strcmp(how, "unaligned_fault") == 0) {
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n\t"
                         "lea 128(%%rsp), %%rsp\n\tmovl 1(%0), %%eax" ::"r"(aligned) : "cc", "memory", "eax");
    }
#endif
    if (strncmp(how, "overwrite_", 10) == 0) {
        if (strcmp(how, "overwrite_thread") == 0) return run(overwrite_and_fault);
        overwrite(how);
        fault(NULL);
    }
    if (strcmp(how, "fault_together") == 0) return fault_together();
    if (strncmp(how, "unseen_", 7) == 0) end_thread_unseen(how);
    if (strcmp(how, "cancel_waiting") == 0) return let_cancel(1);
    if (strcmp(how, "cancel_before") == 0) return let_cancel(0);
    if (strcmp(how, "cancel_in_vain") == 0) return cancel_in_vain();
    if (strcmp(how, "read_input") == 0) return read_input();
    if (strcmp(how, "traceme") == 0) {
        return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 ? OUTLET_OK : OUTLET_E_FAILED;
    }
    if (strcmp(how, "ignored_fault") == 0) {
        signal(SIGSEGV, SIG_IGN);
        fault(NULL);
    }
    if (strcmp(how, "handled_abort") == 0) {
        signal(SIGABRT, note);
        abort();
    }
    if (strcmp(how, "handler_fault") == 0) {
        signal(SIGSEGV, fault_again);
        fault(NULL);
    }
    if (strcmp(how, "handler_default") == 0) {
        signal(SIGSEGV, end_by_default);
        fault(NULL);
    }
    if (strcmp(how, "no_stack") == 0) {
        stack_t none = {.ss_flags = SS_DISABLE};
        sigaltstack(&none, NULL);
        return overflow("", 1 << 20);
    }
    if (strcmp(how, "blocked_fault") == 0) block_and_fault(NULL);
    if (strcmp(how, "thread_blocked") == 0) return run(block_and_fault);
    if (strcmp(how, "thread_c11") == 0) {
        thrd_t thread;
        if (thrd_create(&thread, fault_in_c11, NULL) != thrd_success) return OUTLET_E_FAILED;
        return thrd_join(thread, NULL) == thrd_success ? OUTLET_OK : OUTLET_E_FAILED;
    }
    if (strcmp(how, "thread_value") == 0) return run(fault_at_end);
    if (strcmp(how, "catch") == 0) return catch_faults();
    if (strcmp(how, "catch_signal") == 0) return catch_signal();
    if (strcmp(how, "catch_alarms") == 0) {
        static const struct itimerval often = {{.tv_usec = 1000}, {.tv_usec = 1000}};
        signal(SIGALRM, note);
        return setitimer(ITIMER_REAL, &often, NULL);
    }
    if (strcmp(how, "SIGALRM") == 0) {
        struct itimerval timer = {.it_value = {.tv_usec = 1}};
        setitimer(ITIMER_REAL, &timer, NULL);
        for (;;) pause();
    }
    if (strncmp(how, "timer_", 6) == 0) {
        static const struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
        timer_t timer;
        if (strcmp(how, "timer_USR1") == 0) event.sigev_signo = SIGUSR1;
        if (strcmp(how, "timer_RTMAX") == 0) event.sigev_signo = SIGRTMAX;
        if (strcmp(how, "timer_call") == 0) {
            return (int)syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer);
        }
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return OUTLET_E_FAILED;
        timer_settime(timer, 0, &soon, NULL);
        for (;;) pause();
    }
    if (strcmp(how, "SIGKILL") == 0) return kill(getpid(), SIGKILL);
    if (strcmp(how, "SIGTERM") == 0) return raise(SIGTERM);
    if (strcmp(how, "SIGHUP") == 0) return pthread_kill(pthread_self(), SIGHUP);
    if (strcmp(how, "SIGRTMIN") == 0) return sigqueue(getpid(), SIGRTMIN, (union sigval){0});
    if (strcmp(how, "SIGSTOP") == 0) return raise(SIGSTOP);
    if (strcmp(how, "SIGUSR2") == 0) return (int)syscall(SYS_kill, getpid(), SIGUSR2);
    if (strcmp(how, "pidfd") == 0)
        return (int)syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, getpid(), 0), SIGKILL, NULL, 0);
    if (strcmp(how, "sigqueueinfo") == 0) {
        siginfo_t facts = {.si_code = SI_QUEUE};
        return (int)syscall(SYS_rt_sigqueueinfo, getpid(), SIGKILL, &facts);
    }
    if (strcmp(how, "execv") == 0) return execv("/bin/true", (char *[]){"true", NULL});
    if (strcmp(how, "execveat") == 0) {
        return execveat(AT_FDCWD, "/bin/true", (char *[]){"true", NULL}, (char *[]){NULL}, 0);
    }
    if (strcmp(how, "pthread_exit") == 0) pthread_exit(NULL);
    if (strcmp(how, "thrd_exit") == 0) thrd_exit(0);
    if (strcmp(how, "pthread_cancel") == 0) {
        int state;
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    if (strcmp(how, "write_all") == 0) {
        for (int descriptor = 3; descriptor < 64; descriptor++) {
            /* SIGINT, for a pipe that signals are passed on with. */
            ssize_t written = write(descriptor, "\002", 1);
            (void)written;
        }
        return OUTLET_OK;
    }
    if (strcmp(how, "thread_ends") == 0) return run(end_thread);
    if (strcmp(how, "execlp") == 0) return execlp("true", "true", (char *)NULL);
    if (strcmp(how, "spawn") == 0) return spawn();
    if (strcmp(how, "exit_group") == 0) return (int)syscall(SYS_exit_group, 0);
    if (strcmp(how, "_exit") == 0) _exit(0);
    if (strcmp(how, "raise") == 0) raise(SIGSEGV);
    if (strcmp(how, "kill_fault") == 0) return kill(getpid(), SIGSEGV);
    if (strcmp(how, "overflow") == 0) return overflow("", 1 << 20);
    if (strcmp(how, "thread_exit") == 0) return run(leave);
    if (strcmp(how, "thread_fork") == 0) return run(copy);
    if (strcmp(how, "thread_overflow") == 0) return run(use_up_stack);
    if (strcmp(how, "leave_at_exit") == 0) return atexit(leave_at_exit);
    if (strcmp(how, "exit_at_exit") == 0) return atexit(exit_at_exit);
    if (strcmp(how, "hang_at_exit") == 0) return atexit(hang_at_exit);
    if (strcmp(how, "daemon") == 0) return daemon(1, 1);
    if (strcmp(how, "clearenv") == 0) return clearenv();
    if (strcmp(how, "setenv") == 0) return setenv("FAULTY_HANGS", "1", 1);
    if (strcmp(how, "seteuid") == 0) return seteuid(65534);
    if (strcmp(how, "setegid") == 0) return setegid(65534);
    if (strcmp(how, "rounding") == 0) return fesetround(FE_UPWARD);
#if defined(__x86_64__)
    if (strcmp(how, "x87_value") == 0) {
        __asm__ volatile("fldz");
        return OUTLET_OK;
    }
    if (strcmp(how, "x87_full") == 0) {
        __asm__ volatile("fldz; fldz; fldz; fldz; fldz; fldz; fldz; fldz");
        is_full = 1;
        return OUTLET_OK;
    }
    if (strcmp(how, "x87_precision") == 0) {
        __asm__ volatile("fldcw %0" ::"m"((const uint16_t){0x7F}));
        return OUTLET_OK;
    }
    if (strcmp(how, "direction") == 0) {
        __asm__ volatile("std" ::: "cc");
        return OUTLET_OK;
    }
    if (strcmp(how, "alignment") == 0) {
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n\t"
                         "lea 128(%%rsp), %%rsp" ::: "cc", "memory");
        return OUTLET_OK;
    }
#endif
    if (strcmp(how, "closefrom") == 0) {
        closefrom(3);
        return OUTLET_OK;
    }
    if (strcmp(how, "open_all") == 0) {
        while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {}
        return OUTLET_OK;
    }
    if (strcmp(how, "close_each") == 0) {
        for (int descriptor = 3; descriptor < 1024; descriptor++) close(descriptor);
        return OUTLET_OK;
    }
    if (strcmp(how, "close_call") == 0) {
        for (int descriptor = 3; descriptor < 1024; descriptor++) syscall(SYS_close, descriptor);
        return OUTLET_OK;
    }
    if (strcmp(how, "__close") == 0 || strcmp(how, "dup3") == 0 || strcmp(how, "fclose") == 0 ||
        strcmp(how, "pclose") == 0 || strcmp(how, "endmntent") == 0) {
        close_by(how);
        return OUTLET_OK;
    }
    if (strcmp(how, "close_own") == 0) return close_own();
    if (strcmp(how, "close_promise") == 0) {
        close_by("__close");
        return OUTLET_PENDING;
    }
    if (strcmp(how, "cancel") == 0) return pthread_cancel(pthread_self());
    if (strcmp(how, "close_and_hang") == 0) closefrom(3);
    if (strcmp(how, "mask") == 0) {
        block_all();
        is_masked = 1;
        return OUTLET_OK;
    }
    if (strcmp(how, "promise") == 0) return OUTLET_PENDING;
    if (strcmp(how, "fork") == 0) return fork() < 0 ? OUTLET_E_FAILED : OUTLET_OK;
    if (strcmp(how, "_Fork") == 0) return _Fork() < 0 ? OUTLET_E_FAILED : OUTLET_OK;
    if (strcmp(how, "vfork") == 0) {
        pid_t child = vfork();
        if (child == 0) _exit(0);
        return child < 0 ? OUTLET_E_FAILED : OUTLET_OK;
    }
    if (strcmp(how, "clone") == 0) {
        return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) < 0 ? OUTLET_E_FAILED : OUTLET_OK;
    }
    if (strcmp(how, "chroot") == 0) return chroot("/tmp") == 0 ? OUTLET_OK : OUTLET_E_FAILED;
    if (strcmp(how, "chroot_chdir") == 0) {
        return chroot("/tmp") == 0 && chdir("/") == 0 ? OUTLET_OK : OUTLET_E_FAILED;
    }
    if (strcmp(how, "chdir") == 0) return chdir("/") == 0 ? OUTLET_OK : OUTLET_E_FAILED;
    if (strcmp(how, "close") == 0) {
        for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++) close(descriptor);
        return OUTLET_OK;
    }
    if (strcmp(how, "replace_stderr") == 0) {
        int other = open("/dev/null", O_RDWR);
        return dup2(other, STDERR_FILENO) < 0 || close(other) != 0 ? OUTLET_E_FAILED : OUTLET_OK;
    }
    if (strcmp(how, "print") == 0) return print("now") + atexit(print_at_exit);
    if (strcmp(how, "print_abort") == 0) {
        print("last");
        abort();
    }
    if (strcmp(how, "hijack") == 0) {
        /* Makes every open descriptor from 3 on refer to /dev/null. */
        int other = open("/dev/null", O_RDWR);
        for (int descriptor = 3; descriptor < 1024; descriptor++) {
            if (descriptor != other && fcntl(descriptor, F_GETFD) >= 0) dup2(other, descriptor);
        }
        return OUTLET_OK;
    }
    /* Tests wait for this line. */
    if (write(STDOUT_FILENO, "hanging\n", 8) != 8) return OUTLET_E_FAILED;
    for (;;) pause();
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    struct hanging *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "hook", self->hook, sizeof self->hook);
    setting(host, call, "how", self->how, sizeof self->how);
    hang_in(&self->base, "create");
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    (void)call, (void)request, (void)completion;
    return hang_in(self, "adapt");
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)call, (void)request, (void)completion;
    return hang_in(self, "prepare");
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)call, (void)request;
    hang_in(self, "will_send");
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    (void)call, (void)request, (void)response, (void)attempt, (void)completion;
    return hang_in(self, "retry");
}

static void did_receive(outlet_instance *self, outlet_call call, outlet_request request,
                        outlet_response response) {
    (void)call, (void)request, (void)response;
    hang_in(self, "did_receive");
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)call, (void)request, (void)response, (void)completion;
    return hang_in(self, "process");
}

static int64_t function(outlet_instance *self) {
    hang_in(self, "call");
    return 0;
}

static outlet_status quiesce(outlet_instance *self, outlet_call call) {
    (void)call;
    return hang_in(self, "quiesce");
}

static const outlet_export export = {sizeof(outlet_export), 0, OUTLET_TEXT("function"),
                                     OUTLET_TEXT("l()"), OUTLET_TEXT(""),
                                     (outlet_function)function};
static const outlet_export *const exports[] = {&export};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .will_send = will_send,
                                   .did_receive = did_receive,
                                   .process = process,
                                   .adapt = adapt,
                                   .retry = retry};

static const outlet_hooks *hooks(outlet_instance *self) {
    hang_in(self, "hooks");
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.hangs"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .quiesce = quiesce,
    .destroy = unmake, .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)

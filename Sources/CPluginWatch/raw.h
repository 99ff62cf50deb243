/*
 * raw.h - System calls without the C library. They need no thread-local storage and no data of the thread's, which a
 * plugin may have overwritten, and are no cancellation points. Async-signal-safe.
 */
#ifndef CPLUGINWATCH_RAW_H
#define CPLUGINWATCH_RAW_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Returns what the kernel returns: a negative errno value for a failure. */
static inline long raw_call(long number, long first, long second, long third, long fourth) {
#if defined(__x86_64__)
    long result;
    register long last __asm__("r10") = fourth;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(last)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long call __asm__("x8") = number;
    register long result __asm__("x0") = first;
    register long b __asm__("x1") = second;
    register long c __asm__("x2") = third;
    register long d __asm__("x3") = fourth;
    __asm__ volatile("svc 0" : "+r"(result) : "r"(call), "r"(b), "r"(c), "r"(d) : "memory");
    return result;
#else
    return syscall(number, first, second, third, fourth);
#endif
}

static inline pid_t raw_process(void) { return (pid_t)raw_call(SYS_getpid, 0, 0, 0, 0); }

static inline pid_t raw_thread(void) { return (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0); }

static inline long raw_read(int descriptor, void *bytes, size_t count) {
    return raw_call(SYS_read, descriptor, (long)(uintptr_t)bytes, (long)count, 0);
}

static inline long raw_write(int descriptor, const void *bytes, size_t count) {
    return raw_call(SYS_write, descriptor, (long)(uintptr_t)bytes, (long)count, 0);
}

static inline int raw_open(const char *path, int flags) {
    return (int)raw_call(SYS_openat, AT_FDCWD, (long)(uintptr_t)path, flags, 0);
}

/* The kernel's structure is that of the C library on 64-bit machines. */
static inline int raw_fstat(int descriptor, struct stat *status) {
    return (int)raw_call(SYS_fstat, descriptor, (long)(uintptr_t)status, 0, 0);
}

/* A number for the file of a descriptor, the same for all others of the file; 0 if it is not open. */
static inline uint64_t raw_file(int descriptor) {
    struct stat now;
    if (raw_fstat(descriptor, &now) != 0) return 0;
    return ((uint64_t)now.st_dev << 40 ^ now.st_ino) << 1 | 1;
}

/* Whether a descriptor still is a file: a plugin may have closed it, or have made it another file. */
static inline bool raw_is_file(int descriptor, uint64_t file) { return file != 0 && raw_file(descriptor) == file; }

static inline void raw_wait_millisecond(void) {
    struct timespec time = {.tv_nsec = 1000000};
    raw_call(SYS_nanosleep, (long)(uintptr_t)&time, 0, 0, 0);
}

/* Sends a signal to a thread of this process; 0 only asks whether there is the thread. */
static inline long raw_signal(pid_t thread, int number) {
    return raw_call(SYS_tgkill, raw_process(), thread, number, 0);
}

/* Lets a signal have its default action. */
static inline void raw_set_default(int number) {
    /* The kernel's form of SIG_DFL: handler, flags, restorer, mask. */
    static const uint64_t action[4];
    raw_call(SYS_rt_sigaction, number, (long)(uintptr_t)action, 0, sizeof action[3]);
}

#endif

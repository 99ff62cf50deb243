#define _GNU_SOURCE
#include "CPluginCheck.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

int cplugincheck_open_meter(cplugincheck_meter *meter) {
    meter->descriptors = opendir("/proc/self/fd");
    int result = meter->descriptors == NULL ? errno : 0;
    meter->threads = opendir("/proc/self/task");
    if (meter->threads == NULL) result = errno;
    meter->mappings = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (meter->mappings < 0) result = errno;
    meter->timers = open("/proc/self/timers", O_RDONLY | O_CLOEXEC);
    return result;
}

void cplugincheck_close_meter(cplugincheck_meter *meter) {
    if (meter->descriptors != NULL) closedir(meter->descriptors);
    if (meter->threads != NULL) closedir(meter->threads);
    if (meter->mappings >= 0) close(meter->mappings);
    if (meter->timers >= 0) close(meter->timers);
}

static uint64_t count_entries(void *directory) {
    uint64_t count = 0;
    struct dirent *entry;
    if (directory == NULL) return 0;
    rewinddir(directory);
    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') count += 1;
    }
    return count;
}

/* The alignment of the heaps of malloc() other than the first: HEAP_MAX_SIZE in glibc. */
#define HEAP_ALIGNMENT (UINT64_C(64) << 20)

/* The size of a mapping from its line, such as "7f0000-7f1000 r--p ..."; 0 if it has no permission, and
 * for heaps of malloc(), which keep freed memory mapped. */
static uint64_t mapping_size(const char *line) {
    uint64_t start = 0, end = 0;
    char permissions[5] = "---";
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &start, &end, permissions) != 3) return 0;
    if (strncmp(permissions, "---", 3) == 0 || end < start) return 0;
    return start % HEAP_ALIGNMENT == 0 || strstr(line, "[heap]") != NULL ? 0 : end - start;
}

/* 1 for the first line of a timer, such as "ID: 0"; 0 for other lines. */
static uint64_t timer_count(const char *line) { return strncmp(line, "ID:", 3) == 0; }

/* Adds up what a function returns for the lines of a file, which are cut to 127 bytes; 0 if it cannot be read. */
static uint64_t sum_lines(int file, uint64_t (*value)(const char *line)) {
    uint64_t sum = 0;
    char piece[8192], line[128];
    size_t length = 0;
    ssize_t count;
    if (lseek(file, 0, SEEK_SET) != 0) return 0;
    while ((count = read(file, piece, sizeof piece)) > 0) {
        for (ssize_t i = 0; i < count; i++) {
            if (piece[i] != '\n') {
                if (length < sizeof line - 1) line[length++] = piece[i];
                continue;
            }
            line[length] = 0;
            sum += value(line);
            length = 0;
        }
    }
    return sum;
}

cplugincheck_holdings cplugincheck_measure(const cplugincheck_meter *meter) {
    struct mallinfo2 info = mallinfo2();
    uint64_t large = (uint64_t)info.hblkhd; /* of chunks with a mapping of their own */
    uint64_t mapped = sum_lines(meter->mappings, mapping_size);
    return (cplugincheck_holdings){.descriptors = count_entries(meter->descriptors),
                                   .threads = count_entries(meter->threads),
                                   .allocated = (uint64_t)info.uordblks + large,
                                   .mapped = mapped > large ? mapped - large : 0,
                                   .timers = sum_lines(meter->timers, timer_count)};
}

cplugincheck_usage cplugincheck_thread_usage(void) {
    cplugincheck_usage usage = {0, 0};
    struct timespec time;
    struct rusage resources;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0) {
        usage.cpu_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    }
    if (getrusage(RUSAGE_THREAD, &resources) == 0) usage.waits = (uint64_t)resources.ru_nvcsw;
    return usage;
}

uint64_t cplugincheck_cpu_of(pid_t thread) {
    /* The clock that pthread_getcpuclockid() returns; that function needs a thread that has not ended. */
    clockid_t clock = (clockid_t)(~(unsigned)thread << 3 | 6);
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

cplugincheck_thread cplugincheck_thread_state(void) {
    cplugincheck_thread state = {.locale = (uintptr_t)uselocale((locale_t)0)};
    sigset_t blocked;
    /* Both can be read only by setting them. */
    if (pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state.cancel_state) == 0) {
        if (pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &state.cancel_type) == 0) {
            pthread_setcanceltype(state.cancel_type, NULL);
        }
        pthread_setcancelstate(state.cancel_state, NULL);
    }
    sigemptyset(&blocked);
    if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0) {
        memcpy(&state.blocked_signals, &blocked, sizeof state.blocked_signals);
    }
#if defined(__x86_64__)
    /* Without the exception flags, which any computation may set. */
    state.floating_point = _mm_getcsr() & ~0x3fu;
#else
    state.floating_point = (uint32_t)fegetround();
#endif
    return state;
}

void cplugincheck_restore_thread(cplugincheck_thread state) {
    sigset_t blocked;
    sigemptyset(&blocked);
    memcpy(&blocked, &state.blocked_signals, sizeof state.blocked_signals);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    pthread_setcanceltype(state.cancel_type, NULL);
    pthread_setcancelstate(state.cancel_state, NULL);
    uselocale((locale_t)state.locale);
#if defined(__x86_64__)
    _mm_setcsr(state.floating_point);
#else
    fesetround((int)state.floating_point);
#endif
}

static void end_copy(void) { _exit(0); }

void cplugincheck_end_copies(void) { pthread_atfork(NULL, NULL, end_copy); }

static void *wait_for_end(void *context) {
    int descriptor = (int)(intptr_t)context;
    char byte;
    while (read(descriptor, &byte, 1) > 0) continue;
    kill(0, SIGKILL);
    return NULL;
}

int cplugincheck_end_with(int descriptor) {
    pthread_t thread;
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    int result = pthread_create(&thread, NULL, wait_for_end, (void *)(intptr_t)descriptor);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (result == 0) pthread_detach(thread);
    return result;
}

bool cplugincheck_has_ended(pid_t child) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    /* waitid() fails if it is not a child, or was waited for already. */
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return true;
    return info.si_pid != 0;
}

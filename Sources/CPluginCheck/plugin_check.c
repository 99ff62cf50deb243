#define _GNU_SOURCE
#include "CPluginCheck.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
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

uint64_t cplugincheck_allocated(void) {
    struct mallinfo2 info = mallinfo2();
    return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
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

cplugincheck_thread cplugincheck_thread_state(void) {
    cplugincheck_thread state = {0, 0};
    sigset_t blocked;
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

/*
 * CPluginCheck.h - Measurements of the plugin checker's own process that Swift's Glibc module does not
 * offer.
 */
#ifndef CPLUGINCHECK_H
#define CPLUGINCHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Measures what the process holds. Its descriptors stay open, so that it works also after a plugin has
 * opened all that are allowed.
 */
typedef struct cplugincheck_meter {
    void *descriptors; /* the directory /proc/self/fd */
    void *threads;     /* the directory /proc/self/task */
    int mappings;      /* the file /proc/self/maps */
    int timers;        /* the file /proc/self/timers; -1 if the kernel has none */
} cplugincheck_meter;

/* What the process holds. */
typedef struct cplugincheck_holdings {
    uint64_t descriptors; /* open file descriptors, those of the meter included */
    uint64_t threads;
    uint64_t allocated; /* bytes allocated with malloc() and not freed */
    uint64_t mapped;    /* bytes of mappings that can be accessed, without those of malloc() and
                            stacks of threads that run */
    uint64_t timers;    /* those of timer_create(); 0 if the kernel does not list them */
} cplugincheck_holdings;

/* Opens a meter. Returns 0 or an errno value; close it also after a failure. */
int cplugincheck_open_meter(cplugincheck_meter *meter);

/* Closes what a meter has open. */
void cplugincheck_close_meter(cplugincheck_meter *meter);

/* Measures the process. Thread: one at a time for each meter. */
cplugincheck_holdings cplugincheck_measure(const cplugincheck_meter *meter);

/* The number of threads of the process; 0 if it cannot be read. Thread: any. */
int cplugincheck_thread_count(void);

/* What the calling thread has used since it started. */
typedef struct cplugincheck_usage {
    uint64_t cpu_ns; /* processor time in nanoseconds */
    uint64_t waits;  /* voluntary context switches: how often it waited */
} cplugincheck_usage;

cplugincheck_usage cplugincheck_thread_usage(void);

/* The processor time that a thread of this process has used, in nanoseconds; 0 if it has ended. Thread: any. */
uint64_t cplugincheck_cpu_of(pid_t thread);

/* Thread state that a plugin must not change. */
typedef struct cplugincheck_thread {
    uint64_t blocked_signals;
    uint32_t floating_point; /* the rounding and exception modes */
    int cancel_type;         /* of pthread_setcanceltype() */
    int cancel_state;        /* of pthread_setcancelstate() */
    uintptr_t locale;        /* the locale_t of uselocale() */
    uint64_t name[2];        /* the bytes of its name */
} cplugincheck_thread;

cplugincheck_thread cplugincheck_thread_state(void);

/* Restores that state in the calling thread. */
void cplugincheck_restore_thread(cplugincheck_thread state);

/* Ends each copy of the process that fork() makes from now on, at once. Thread: any; call it once. */
void cplugincheck_end_copies(void);

/*
 * Kills the caller's process group, itself included, when a descriptor reaches its end of file. Starts a
 * thread that reads the descriptor. Returns 0 or an errno value. Thread: any; call it once.
 */
int cplugincheck_end_with(int descriptor);

/*
 * Copies the calling process. The copy, which runs the test, has a process group of its own, and is killed
 * if the original ends; in it, the function returns 0.
 *
 * The original adopts what the test leaves behind, also after setsid(), and kills it when the test has
 * ended, or after SIGTERM, which ends the test as well. It then ends as the test has ended, and does not
 * return. It keeps no descriptors open. Returns an errno value if there can be no copy. Call it before any
 * thread is started.
 */
int cplugincheck_supervise(void);

/* A process. */
typedef struct cplugincheck_process {
    pid_t id;
    char name[16]; /* at most 15 bytes, and NUL */
} cplugincheck_process;

/*
 * Lists the processes that the test has started and that have not ended, those included that its supervisor
 * has adopted. Returns their number, and stores as many as fit. Thread: any of the test.
 */
int cplugincheck_started_processes(cplugincheck_process *out, int capacity);

/* Whether a child process has ended; it can still be waited for. Thread: any. */
bool cplugincheck_has_ended(pid_t child);

#endif

/*
 * CPluginCheck.h - Measurements of the plugin checker's own process that Swift's Glibc module does not
 * offer.
 */
#ifndef CPLUGINCHECK_H
#define CPLUGINCHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the number of bytes that were allocated with malloc() and not freed. Thread: any. */
uint64_t cplugincheck_allocated(void);

/* What the calling thread has used since it started. */
typedef struct cplugincheck_usage {
    uint64_t cpu_ns; /* processor time in nanoseconds */
    uint64_t waits;  /* voluntary context switches: how often it waited */
} cplugincheck_usage;

cplugincheck_usage cplugincheck_thread_usage(void);

/* Thread state that a plugin must not change: the blocked signals, and the floating-point rounding and
 * exception modes. */
typedef struct cplugincheck_thread {
    uint64_t blocked_signals;
    uint32_t floating_point;
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

/* Whether a child process has ended; it can still be waited for. Thread: any. */
bool cplugincheck_has_ended(pid_t child);

#endif

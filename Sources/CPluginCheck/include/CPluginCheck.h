/*
 * CPluginCheck.h - what the checker measures of its own process, and Swift's Glibc module leaves out.
 */
#ifndef CPLUGINCHECK_H
#define CPLUGINCHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How many bytes malloc() has given out, and were not freed. Thread: any. */
uint64_t cplugincheck_allocated(void);

/* What the calling thread has used so far. */
typedef struct cplugincheck_usage {
    uint64_t cpu_ns; /* processor time */
    uint64_t waits;  /* how often it gave the processor up to wait for something */
} cplugincheck_usage;

cplugincheck_usage cplugincheck_thread_usage(void);

/* What the calling thread should be left with: its blocked signals, and how it rounds and traps. */
typedef struct cplugincheck_thread {
    uint64_t blocked_signals;
    uint32_t floating_point;
} cplugincheck_thread;

cplugincheck_thread cplugincheck_thread_state(void);

/* Gives the calling thread that state back. */
void cplugincheck_restore_thread(cplugincheck_thread state);

/*
 * Counts calls of fork() from now on; a copy of the process that one makes ends at once. Thread: any,
 * once.
 */
void cplugincheck_watch_forks(void);

/* How often fork() was called. Thread: any. */
int cplugincheck_forks(void);

/*
 * Ends the process group of the caller as soon as a descriptor is at its end; a thread of its own reads it.
 * Returns 0 or an errno value. Thread: any, once.
 */
int cplugincheck_end_with(int descriptor);

/* Whether a child has ended; it can be waited for all the same. Thread: any. */
bool cplugincheck_has_ended(pid_t child);

#endif

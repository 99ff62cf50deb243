/*
 * CPluginWatch.h - which plugin a thread is in, for the one line that a crash or an exit() leaves.
 *
 * Off until cpluginwatch_report() is called; cpluginwatch_enter() is to be asked for only while it is on.
 */
#ifndef CPLUGINWATCH_H
#define CPLUGINWATCH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reports from now on, to a descriptor: a fault or abort() by its signal, after which the process ends by that
 * signal as it would have; exit() and quick_exit(), after which it ends with exit_code; fork(), whose copy
 * ends when it comes back. Signals that have a handler keep it. Thread: one at a time; further calls set the
 * code only.
 */
void cpluginwatch_report(int exit_code, int descriptor);

/* Whether ends are reported. Thread: any. */
bool cpluginwatch_is_on(void);

/*
 * Ends the process as _exit() does, and reports it where a plugin asks: for a program that has _exit() call
 * this. Thread: any.
 */
void cpluginwatch_exit(int exit_code);

/* The process is about to end as it should: exit() is no plugin's any more. Thread: any. */
void cpluginwatch_expect_exit(void);

/*
 * The calling thread goes into a plugin's code: its id, the hook, and what it is about ("" for nothing).
 * They are copied, cut to what a line holds, bytes that are no printable ASCII replaced. Calls nest.
 */
void cpluginwatch_enter(const char *plugin, const char *hook, const char *subject);

/* The calling thread has come back. */
void cpluginwatch_leave(void);

#endif

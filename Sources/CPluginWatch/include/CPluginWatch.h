/*
 * CPluginWatch.h - Records which plugin a thread is running, and prints one line that names it when
 * the process crashes or a plugin ends the process.
 *
 * Off until cpluginwatch_report() is called. Call cpluginwatch_enter() and cpluginwatch_leave() only
 * while it is on.
 */
#ifndef CPLUGINWATCH_H
#define CPLUGINWATCH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Turns reports on; they are written to a descriptor.
 *
 * Reported are: crashes and abort(), after which the process ends by the same signal; exit() and
 * quick_exit(), after which the process ends with exit_code; fork() within a plugin, whose child ends
 * when it returns from the plugin. Signals that already have a handler keep it.
 *
 * Further calls set the descriptor and exit_code, and let exit() be reported again. Thread: one at a
 * time.
 */
void cpluginwatch_report(int exit_code, int descriptor);

/* Whether reports are on. Thread: any. */
bool cpluginwatch_is_on(void);

/*
 * Ends the process as _exit() does. If a plugin calls it while reports are on, reports that, and the
 * process ends with the exit_code of cpluginwatch_report(). For a program whose _exit() calls this.
 * Thread: any.
 */
void cpluginwatch_exit(int exit_code);

/* The program itself is about to call exit(), which is not reported then. Thread: any. */
void cpluginwatch_expect_exit(void);

/*
 * Records that the calling thread enters a plugin's code: the plugin's id, the hook, and the hook's
 * subject ("" for none). The texts are copied and truncated; bytes other than printable ASCII become
 * "?". Calls nest.
 */
void cpluginwatch_enter(const char *plugin, const char *hook, const char *subject);

/* Records that the calling thread has returned from the plugin's code. In a child that the plugin has made
 * by fork(), ends the process. */
void cpluginwatch_leave(void);

#endif

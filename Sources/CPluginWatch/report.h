/*
 * report.h - Writes the line that names a plugin. Its functions are async-signal-safe: no allocation, no stdio, no
 * locks.
 */
#ifndef CPLUGINWATCH_REPORT_H
#define CPLUGINWATCH_REPORT_H

#include "calls.h"

/* Sets where reports are written; the arguments are those of cpluginwatch_report(). Not async-signal-safe. */
void watch_set_output(int descriptor, int reader);

/* Writes a line, after what is in the pipe, and what the program has read from it. */
void watch_report_line(char *line);

/* Writes one line: the plugin that the calling thread runs, what happened, and the hook. */
void watch_report(const char *what, const char *name);

/* As watch_report(), about a copy of the process. */
void watch_report_copy(const char *what, const char *name);

/* Makes room for what cpluginwatch_facts() lists. Not async-signal-safe. */
void watch_make_facts(void);

/* Writes one line about a signal. */
void watch_report_signal(const char *what, int number);

/* Writes the line about the end of the process, unless there is one already. The caller must end the process. */
void watch_report_end(const char *what, const char *name);

/* Writes the line about the end of the process by a signal, as watch_report_end(). */
void watch_report_end_by_signal(const char *what, int number);

/* Writes the line about an end of the process that a call causes. Returns false if there is one already. */
bool watch_report_end_in(const struct call *call, const char *what, const char *name);

/* Writes the line about a crash, as watch_report_end(). If the calling thread has crashed while it was writing that,
 * for example because its storage cannot be read, writes the line once more without the thread's storage.
 *
 * Returns the signal that the process must end by. */
int watch_report_crash(int number);

/* Whether the calling thread writes, or has written, the line about the end of the process. */
bool watch_is_reporting_end(void);

/* Calls what reports call, because a plugin may damage what the dynamic linker needs to find a function at its first
 * call. */
void watch_bind_functions(void);

#endif

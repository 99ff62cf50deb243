/*
 * ends.h - Plugins that end the process, or copy it.
 */
#ifndef CPLUGINWATCH_ENDS_H
#define CPLUGINWATCH_ENDS_H

#include "guard.h"

/* Ends the process without exit handlers. Async-signal-safe. */
void watch_end_process(int exit_code);

/* Reports what a plugin has done, and ends the process. Async-signal-safe. */
void watch_end(const char *what, const char *name);

/* Ends the process, as code of the C library or of a plugin asks for by a system call. Async-signal-safe. */
void watch_end_asked(const struct guard_call *call);

/* Lets calls of exit() and fork() be reported. To be called once, while reports are on. */
void watch_install_ends(void);

/* Forgets the calls of exit(). */
void watch_forget_exits(void);

/* A copy that the calling thread makes from now on is not reported yet. */
void watch_expect_copy(void);

/* Ends a copy of the process that returns from the plugin which has made it. */
void watch_end_copy(void);

#endif

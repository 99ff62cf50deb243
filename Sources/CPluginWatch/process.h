/*
 * process.h - Whether reports are on, for which process, and how it ends. Async-signal-safe.
 */
#ifndef CPLUGINWATCH_PROCESS_H
#define CPLUGINWATCH_PROCESS_H

#include <stdbool.h>

/* Whether reports are on and this process is not a child. */
bool watch_applies(void);

/* Turns reports on for this process. */
void watch_turn_on(void);

/* The exit code of a process that a plugin ends. */
int watch_exit_code(void);
void watch_set_exit_code(int exit_code);

/* Whether the program has announced that it is about to call exit(). */
bool watch_expects_exit(void);
void watch_set_expects_exit(bool expects);

#endif

/*
 * signals.h - The signals of crashes, and those by which a plugin may end the process.
 */
#ifndef CPLUGINWATCH_SIGNALS_H
#define CPLUGINWATCH_SIGNALS_H

#include <stdbool.h>

/* Handles the signals that have no handler. To be called once. */
void watch_handle_signals(void);

/* Whether a signal is handled by watch_handle_signals(). */
bool watch_handles(int number);

/* Unblocks the signals of crashes in the calling thread: the event loop's threads block all, and a hook may do so,
 * too. */
void watch_unblock(void);

#endif

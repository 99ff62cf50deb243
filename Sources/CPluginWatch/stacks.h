/*
 * stacks.h - Alternate stacks for the handlers of signals, because a crash may be a stack overflow.
 */
#ifndef CPLUGINWATCH_STACKS_H
#define CPLUGINWATCH_STACKS_H

#include <stdbool.h>

/* To be called once, before watch_make_ready(). Returns false for a failure. */
bool watch_prepare_stacks(void);

/* Prepares the calling thread for calls of plugins: marks its storage, and gives it a stack. Does nothing for one that
 * is prepared. */
void watch_make_ready(void);

#endif

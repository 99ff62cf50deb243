#ifndef OUTLET_THREAD_H
#define OUTLET_THREAD_H

/// Sets the name of the calling thread and blocks all signals in it but those that a thread causes
/// itself, so that the program's own threads get them.
void cthread_prepare(const char *_Nonnull name);

/// Starts a detached thread, with a stack of the size that was the default when the program started. Returns 0, or the
/// error of pthread_create().
int cthread_start(void *_Nullable (*_Nonnull body)(void *_Nullable), void *_Nullable argument);

/// Calls a function that must return: ends the process with a line on stderr and SIGABRT if code of a
/// plugin ends the thread. Its stack would be gone, on which the state of the call is.
void cthread_run(void (*_Nonnull body)(void *_Nonnull), void *_Nonnull argument);

#endif

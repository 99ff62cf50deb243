#ifndef OUTLET_THREAD_H
#define OUTLET_THREAD_H

/// Sets the name of the calling thread and blocks all signals in it but those that a thread causes
/// itself, so that the program's own threads get them.
void cthread_prepare(const char *_Nonnull name);

#endif

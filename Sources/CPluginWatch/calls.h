/*
 * calls.h - The calls of plugins that threads are in or whose answers are pending, and the threads of plugins.
 */
#ifndef CPLUGINWATCH_CALLS_H
#define CPLUGINWATCH_CALLS_H

#include "text.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A call of a plugin's code. */
struct call {
    char plugin[id_size], hook[64], subject[256];
    /* The number of the plugin's library. */
    uint32_t library;
    /* Whether it is a thread that the plugin has started in the hook. */
    bool is_thread;
};

/* The innermost call that the calling thread is in; NULL for none. Async-signal-safe. */
const struct call *watch_current_call(void);

/* The innermost call that a thread is in as far as it is known without the thread's own storage; NULL for none.
 * Async-signal-safe. */
const struct call *watch_recorded_call(pid_t number);

/* Whether the calling thread's own storage is as it was left: no plugin has written to it. Async-signal-safe. */
bool watch_storage_is_whole(void);

/* How many calls of plugins the calling thread is in. */
int watch_depth(void);

/* Whether code of a plugin may run on this thread: in a call, or in exit handlers and destructors. */
bool watch_may_be_in_plugin(void);

/* Whether a call comes from the code of a plugin, as far as the return address tells. */
bool watch_is_of_plugin(const void *caller);

/* Whether the calling thread runs code of a plugin's in a call by the program, which must return. */
bool watch_must_return(void);

enum { named_limit = 4 };

/* The listed calls of the plugins of a library, or of all. */
struct found {
    /* The number of calls whose answers are needed; if there are none, of those that were cancelled. */
    int count;
    /* The first of them. */
    struct call calls[named_limit];
    bool are_cancelled;
    /* The plugin that all calls are of, also cancelled ones; empty for several and for none. */
    char plugin[id_size];
};

/* Finds the calls of a library; of all for NULL. Async-signal-safe. */
void watch_find_calls(const uint32_t *library, struct found *found);

/* Whether there was room for all calls. Async-signal-safe. */
bool watch_lists_all_calls(void);

/* Marks the storage of the calling thread as its own. To be called before its first call. */
void watch_mark_storage(void);
bool watch_has_marked_storage(void);

/* Records a call of the calling thread; watch_leave_call() ends the innermost one. The arguments are those of
 * cpluginwatch_enter(). */
void watch_enter_call(const char *plugin, const char *hook, const char *subject, uint32_t library);
void watch_leave_call(void);

/* Records that the calling thread was started in a call. Returns its place for watch_leave_thread(); NULL if there is
 * no room. */
void *watch_enter_thread(const struct call *call);
void watch_leave_thread(void *place);

/* Records that the calls of the calling thread can be cancelled, or not any more. The first returns whether another
 * thread has cancelled one of them. */
bool watch_set_cancellable(void);
void watch_set_uncancellable(void);

/* Records that a thread was cancelled by another one. Returns whether it is in a call that can be cancelled, and copies
 * the call. */
bool watch_cancel_call(pthread_t thread, struct call *call);

#endif

#define _GNU_SOURCE
#include "calls.h"
#include "CPluginWatch.h"
#include "libraries.h"
#include "process.h"
#include "raw.h"

#include <stdatomic.h>
#include <string.h>

enum { depth_limit = 4, listed_limit = 256, thread_limit = 256 };

/* The calls that are running, or whose answers are pending: a thread of a plugin's may work for any of those of its
 * library. An entry is written only while its state is is_written. */
static struct call listed[listed_limit];
/* The state of each entry, and the number of its former uses, times state_count. */
static _Atomic uint32_t states[listed_limit];
enum { is_free, is_written, is_open, is_cancelled, state_count };
/* The thread that is in each entry's call: a report can be made without its own storage, which a plugin may have
 * overwritten. */
static struct {
    /* Its id in the kernel; 0 once the call has returned. */
    atomic_int number;
    /* How many calls the thread was in before this one. */
    atomic_int depth;
    _Atomic(pthread_t) thread;
    /* Whether the plugin has enabled cancellation, and whether the thread was cancelled by another one. */
    atomic_int cancel;
} callers[listed_limit];
enum { can_be_cancelled = 1, was_cancelled = 2 };
/* How many calls are not listed because there was no room. */
static atomic_int unlisted;

/* The plugin calls that a thread is in, the innermost last; those beyond depth_limit are only counted. */
struct inside {
    /* inside_mark() once watch_mark_storage() was called; anything else may have been written by a plugin. */
    uintptr_t mark;
    int depth;
    /* Whether watch_mark_storage() was called for the thread. */
    bool is_ready;
    /* The thread's id in the kernel. */
    pid_t number;
    /* The entry of the list that the thread has used last. */
    int last;
    struct {
        /* The call's index in the list; listed_limit if it is not listed. */
        int index;
        /* Whether the entry stays in the list when the call returns. */
        bool is_kept;
        /* The call if it is not listed. */
        struct call own;
    } calls[depth_limit];
};

static _Thread_local struct inside inside;

static uintptr_t inside_mark(void) { return (uintptr_t)&inside ^ (uintptr_t)0x6f75746c65743a77; }

const struct call *watch_current_call(void) {
    if (inside.depth == 0) return NULL;
    int place = (inside.depth < depth_limit ? inside.depth : depth_limit) - 1;
    int index = inside.calls[place].index;
    return index < listed_limit ? &listed[index] : &inside.calls[place].own;
}

/* Copies a call from the list. Returns false if the entry does not have the state, or changes meanwhile. */
static bool read_listed(int index, uint32_t state, struct call *call) {
    uint32_t before = atomic_load(&states[index]);
    if (before % state_count != state) return false;
    memcpy(call, &listed[index], sizeof *call);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load(&states[index]) == before;
}

void watch_find_calls(const uint32_t *library, struct found *found) {
    struct call call;
    bool is_any = false;
    memset(found, 0, sizeof *found);
    for (uint32_t state = is_open; state <= is_cancelled; state++) {
        bool is_counted = found->count == 0;
        for (int i = 0; i < listed_limit; i++) {
            if (!read_listed(i, state, &call) || (library && call.library != *library)) continue;
            if (!is_any) memcpy(found->plugin, call.plugin, sizeof call.plugin);
            if (strcmp(found->plugin, call.plugin) != 0) found->plugin[0] = 0;
            is_any = true;
            if (!is_counted) continue;
            if (found->count < named_limit) found->calls[found->count] = call;
            found->count++;
            found->are_cancelled = state == is_cancelled;
        }
    }
}

bool watch_lists_all_calls(void) { return atomic_load(&unlisted) == 0; }

/* The threads of plugins whose functions have not returned; those with the number 0 are free. */
static cpluginwatch_thread threads[thread_limit];
/* The calls in which they were started. */
static struct call thread_calls[thread_limit];
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;

const struct call *watch_recorded_call(pid_t number) {
    int found = listed_limit, depth = -1;
    for (int i = 0; i < listed_limit; i++) {
        uint32_t state = atomic_load(&states[i]) % state_count;
        if ((state != is_open && state != is_cancelled) || atomic_load(&callers[i].number) != number) continue;
        if (atomic_load(&callers[i].depth) <= depth) continue;
        depth = atomic_load(&callers[i].depth);
        found = i;
    }
    if (found < listed_limit) return &listed[found];
    for (int i = 0; i < thread_limit; i++) {
        if (threads[i].number == number) return &thread_calls[i];
    }
    return NULL;
}

bool watch_storage_is_whole(void) {
    if (inside.mark != inside_mark() || inside.depth < 0) return false;
    for (int i = 0; i < inside.depth && i < depth_limit; i++) {
        if (inside.calls[i].index < 0 || inside.calls[i].index > listed_limit) return false;
    }
    return true;
}

int watch_depth(void) { return inside.depth; }

bool watch_may_be_in_plugin(void) { return watch_applies() && (inside.depth > 0 || watch_expects_exit()); }

bool watch_is_of_plugin(const void *caller) {
    return watch_may_be_in_plugin() && !watch_is_of_program(caller);
}

bool watch_must_return(void) {
    if (!watch_applies() || inside.depth == 0) return false;
    const struct call *call = watch_current_call();
    return inside.depth > 1 || !call->is_thread;
}

void watch_mark_storage(void) {
    inside.is_ready = true;
    inside.mark = inside_mark();
    inside.number = raw_thread();
}

bool watch_has_marked_storage(void) { return inside.is_ready; }

/* Takes a free entry of the list. Returns its index; listed_limit if there is none. */
static int take_entry(void) {
    for (int i = 0; i < listed_limit; i++) {
        int index = (inside.last + i) % listed_limit;
        uint32_t state = atomic_load_explicit(&states[index], memory_order_relaxed);
        if (state % state_count != is_free) continue;
        if (!atomic_compare_exchange_strong(&states[index], &state, state + is_written)) continue;
        // A reader that sees what is written to the entry must also see the new state.
        atomic_thread_fence(memory_order_release);
        inside.last = index;
        return index;
    }
    atomic_fetch_add(&unlisted, 1);
    return listed_limit;
}

static void set_state(int index, uint32_t state) {
    uint32_t now = atomic_load_explicit(&states[index], memory_order_relaxed);
    uint32_t uses = now / state_count + (state == is_free);
    atomic_store_explicit(&states[index], uses * state_count + state, memory_order_release);
}

static void free_entry(int index) {
    if (index < listed_limit) {
        set_state(index, is_free);
    } else {
        atomic_fetch_sub(&unlisted, 1);
    }
}

void watch_enter_call(const char *plugin, const char *hook, const char *subject, uint32_t library) {
    if (inside.depth < depth_limit) {
        int index = take_entry();
        struct call *call = index < listed_limit ? &listed[index] : &inside.calls[inside.depth].own;
        watch_copy_text(call->plugin, sizeof call->plugin, plugin);
        watch_copy_text(call->hook, sizeof call->hook, hook);
        watch_copy_text(call->subject, sizeof call->subject, subject);
        call->library = library;
        call->is_thread = false;
        if (index < listed_limit) {
            atomic_store_explicit(&callers[index].depth, inside.depth, memory_order_relaxed);
            atomic_store_explicit(&callers[index].thread, pthread_self(), memory_order_relaxed);
            atomic_store_explicit(&callers[index].cancel, 0, memory_order_relaxed);
            atomic_store_explicit(&callers[index].number, inside.number, memory_order_relaxed);
            set_state(index, is_open);
        }
        inside.calls[inside.depth].index = index;
        inside.calls[inside.depth].is_kept = false;
    }
    inside.depth++;
}

void watch_leave_call(void) {
    inside.depth--;
    if (inside.depth >= depth_limit) return;
    int index = inside.calls[inside.depth].index;
    if (index < listed_limit) atomic_store_explicit(&callers[index].number, 0, memory_order_relaxed);
    if (!inside.calls[inside.depth].is_kept) free_entry(index);
}

const char *cpluginwatch_subject(void) {
    const struct call *call = watch_current_call();
    return inside.depth <= depth_limit && call && call->subject[0] ? call->subject : NULL;
}

uint32_t cpluginwatch_pending(void) {
    if (inside.depth < 1 || inside.depth > depth_limit) return 0;
    inside.calls[inside.depth - 1].is_kept = true;
    return (uint32_t)inside.calls[inside.depth - 1].index + 1;
}

void cpluginwatch_cancelled(uint32_t call) {
    if (call <= listed_limit) set_state((int)call - 1, is_cancelled);
}

void cpluginwatch_answered(uint32_t call) { free_entry((int)call - 1); }

void *watch_enter_thread(const struct call *call) {
    cpluginwatch_thread *place = NULL;
    pthread_mutex_lock(&threads_lock);
    for (size_t i = 0; i < thread_limit && !place; i++) {
        if (threads[i].number == 0) place = &threads[i];
    }
    if (place) {
        thread_calls[place - threads] = *call;
        memcpy(place->plugin, call->plugin, sizeof place->plugin);
        place->number = gettid();
    }
    pthread_mutex_unlock(&threads_lock);
    inside.calls[0].index = listed_limit;
    inside.calls[0].own = *call;
    inside.depth = 1;
    return place;
}

void watch_leave_thread(void *place) {
    if (!place) return;
    pthread_mutex_lock(&threads_lock);
    ((cpluginwatch_thread *)place)->number = 0;
    pthread_mutex_unlock(&threads_lock);
}

size_t cpluginwatch_threads(cpluginwatch_thread *all, size_t count) {
    size_t found = 0;
    pthread_mutex_lock(&threads_lock);
    for (size_t i = 0; i < thread_limit && found < count; i++) {
        if (threads[i].number != 0) all[found++] = threads[i];
    }
    pthread_mutex_unlock(&threads_lock);
    return found;
}

/* Calls a function with each recorded call that the thread is in. Returns whether one of the results is not 0. */
static bool set_cancel(int (*change)(atomic_int *)) {
    bool is_set = false;
    for (int i = 0; i < inside.depth && i < depth_limit; i++) {
        int index = inside.calls[i].index;
        if (index < listed_limit && change(&callers[index].cancel) != 0) is_set = true;
    }
    return is_set;
}

static int note_cancellable(atomic_int *cancel) {
    return atomic_fetch_or(cancel, can_be_cancelled) & was_cancelled;
}

static int note_uncancellable(atomic_int *cancel) {
    atomic_fetch_and(cancel, ~can_be_cancelled);
    return 0;
}

bool watch_set_cancellable(void) { return set_cancel(note_cancellable); }

void watch_set_uncancellable(void) { set_cancel(note_uncancellable); }

bool watch_cancel_call(pthread_t thread, struct call *call) {
    bool is_found = false;
    for (int i = 0; i < listed_limit; i++) {
        uint32_t state = atomic_load(&states[i]) % state_count;
        if (state != is_open && state != is_cancelled) continue;
        if (atomic_load(&callers[i].number) == 0 || !pthread_equal(atomic_load(&callers[i].thread), thread)) continue;
        // Either this finds that the other thread can be cancelled, or that finds that it was, when it enables that.
        if (!(atomic_fetch_or(&callers[i].cancel, was_cancelled) & can_be_cancelled)) continue;
        if (!is_found) is_found = read_listed(i, state, call);
    }
    return is_found;
}

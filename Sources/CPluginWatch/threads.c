#define _GNU_SOURCE
#include "CPluginWatch.h"
#include "calls.h"
#include "ends.h"
#include "libraries.h"
#include "process.h"
#include "report.h"
#include "signals.h"
#include "stacks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* Whether a plugin has enabled cancellation in a call that must return, and whether the thread was cancelled while it
 * could not be. */
static _Thread_local bool is_cancellable, is_cancelled;

void cpluginwatch_thread_exit(const char *call) {
    if (!watch_must_return()) return;
    watch_end("has ended a thread of the program with ", call);
}

void cpluginwatch_cancel_self(void) {
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_setcancelstate(state, NULL);
    if (state == PTHREAD_CANCEL_ENABLE) cpluginwatch_thread_exit("pthread_cancel()");
    is_cancelled = watch_must_return();
}

void cpluginwatch_cancel_other(pthread_t thread) {
    struct call call;
    if (!watch_applies() || !watch_cancel_call(thread, &call)) return;
    const struct call *own = watch_current_call();
    if (!watch_report_end_in(own ? own : &call, "has ended a thread of the program with ", "pthread_cancel()")) return;
    watch_end_process(watch_exit_code());
}

bool cpluginwatch_enable_cancel(void) {
    if (!watch_must_return()) return false;
    is_cancellable = true;
    if (watch_set_cancellable() || is_cancelled) cpluginwatch_thread_exit("pthread_cancel()");
    return true;
}

void cpluginwatch_disable_cancel(void) {
    if (!is_cancellable) return;
    is_cancellable = false;
    watch_set_uncancellable();
}

/* The function of a thread that a plugin has started, and where it has. */
struct thread_start {
    void *(*run)(void *);
    void *argument;
    /* Whether the plugin is known: not if a library shared with the program has started the thread. */
    bool is_plugins;
    struct call call;
};

static void *run_thread(void *argument) {
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    watch_make_ready();
    watch_unblock();
    void *place = start.is_plugins ? watch_enter_thread(&start.call) : NULL;
    void *result;
    /* Also when the thread ends by pthread_exit(). */
    pthread_cleanup_push(watch_leave_thread, place);
    result = start.run(start.argument);
    pthread_cleanup_pop(1);
    watch_end_copy();
    // The depth stays: destructors of the thread's values may still run the plugin's code.
    return result;
}

int cpluginwatch_create_thread(cpluginwatch_thread_creator create, pthread_t *thread,
                               const pthread_attr_t *attributes, void *(*run)(void *), void *argument,
                               const void *caller) {
    const struct call *call = watch_current_call();
    if (!cpluginwatch_is_on() || !call) return create(thread, attributes, run, argument);
    struct thread_start *start = calloc(1, sizeof *start);
    if (!start) return EAGAIN;
    start->run = run;
    start->argument = argument;
    start->is_plugins = !watch_is_of_program(caller) || watch_starts_for_callers(caller);
    start->call = *call;
    start->call.subject[0] = 0;
    start->call.is_thread = true;
    int status = create(thread, attributes, run_thread, start);
    if (status != 0) free(start);
    return status;
}

#define _GNU_SOURCE
#include "CPluginWatch.h"
#include "calls.h"
#include "ends.h"
#include "guard.h"
#include "libraries.h"
#include "process.h"
#include "report.h"
#include "signals.h"
#include "stacks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* Whether cpluginwatch_guard() was called. */
static atomic_bool is_guarding;

void cpluginwatch_report(int exit_code, int descriptor, int reader) {
    watch_set_output(descriptor, reader);
    watch_set_exit_code(exit_code);
    watch_set_expects_exit(false);
    watch_forget_exits();
    if (cpluginwatch_is_on()) return;
    cpluginwatch_keep(descriptor);
    cpluginwatch_keep(reader);
    if (!watch_prepare_stacks()) return;
    watch_note_libraries();
    watch_make_facts();
    watch_turn_on();
    watch_bind_functions();
    watch_install_ends();
    watch_handle_signals();
}

void cpluginwatch_guard(void) {
    if (!watch_applies() || !watch_handles(SIGSYS)) return;
    atomic_store(&is_guarding, true);
    guard_libraries(watch_is_of_program);
}

void cpluginwatch_loaded(void) {
    if (atomic_load(&is_guarding)) guard_libraries(watch_is_of_program);
}

int cpluginwatch_filter_count(void) { return guard_filter_count(); }

void cpluginwatch_expect_exit(void) {
    watch_set_expects_exit(true);
    // Destructors run on this thread, which may not have called a plugin.
    if (watch_applies()) watch_make_ready();
}

bool cpluginwatch_refuses_trace(const void *caller) {
    if (!watch_is_of_plugin(caller)) return false;
    watch_report("has tried to let the parent process trace this one by ", "ptrace()");
    errno = EPERM;
    return true;
}

bool cpluginwatch_refuses_defaults(const void *caller) {
    if (!watch_is_of_plugin(caller)) return false;
    watch_report("has tried to change the program's threads by ", "pthread_setattr_default_np()");
    return true;
}

void cpluginwatch_enter(const char *plugin, const char *hook, const char *subject, uint32_t library) {
    watch_make_ready();
    watch_unblock();
    // A plugin that cancels its own thread would end one of the program's.
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    watch_enter_call(plugin, hook, subject, library);
    watch_expect_copy();
}

void cpluginwatch_leave(void) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    watch_end_copy();
    watch_leave_call();
}

#define _GNU_SOURCE
#include "signals.h"
#include "CPluginWatch.h"
#include "calls.h"
#include "ends.h"
#include "libraries.h"
#include "noted.h"
#include "process.h"
#include "raw.h"
#include "report.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* The reported signals: first those of crashes, then those that timers, limits and descriptors cause. The real-time
 * signals follow. */
static const int signals[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,  SIGTRAP, SIGABRT,   SIGSYS, SIGALRM, SIGVTALRM,
                              SIGPROF, SIGXCPU, SIGIO,  SIGUSR1, SIGUSR2, SIGSTKFLT, SIGPWR, SIGQUIT};
enum { crash_count = 7, named_count = sizeof signals / sizeof *signals, signal_count = named_count + 31 };

/* The signals whose actions plugins have set: bit n is that of signal n + 1. */
static _Atomic uint64_t set_signals;

typedef void (*signal_handler)(int, siginfo_t *, void *);
/* SIG_DFL as a value of that type. */
static const signal_handler default_handler = NULL;

/* What plugins have set for the reported signals. The actions themselves stay on_signal(). */
static struct {
    /* Whether the signal's action is on_signal(): it had no other handler when reports were turned on. */
    bool is_reported;
    atomic_bool is_set;
    _Atomic(signal_handler) handler;
    atomic_int flags;
    /* The signals that are blocked while the handler runs: bit n is that of signal n + 1. */
    _Atomic uint64_t mask;
} actions[signal_count];

/* The frame in which on_signal() has last called a plugin's handler; 0 before. */
static _Thread_local uintptr_t handler_frame;

/* The reported signal with an index. */
static int signal_at(size_t index) {
    return index < named_count ? signals[index] : SIGRTMIN + (int)(index - named_count);
}

/* The index of a reported signal; signal_count if it is not. */
static size_t index_of(int number) {
    size_t index = 0;
    while (index < signal_count && signal_at(index) != number) index++;
    return index;
}

/* Removes the signals of crashes from a mask. */
static void remove_crashes(sigset_t *mask) {
    for (size_t i = 0; i < crash_count; i++) sigdelset(mask, signals[i]);
}

/* Sets the mask for the handler that a plugin has set; the former one is set again when it returns. */
static void block_as_asked(size_t index, int flags) {
    sigset_t set;
    uint64_t mask = atomic_load(&actions[index].mask);
    sigemptyset(&set);
    memcpy(&set, &mask, sizeof mask);
    remove_crashes(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (!(flags & SA_NODEFER)) return;
    sigemptyset(&set);
    sigaddset(&set, signal_at(index));
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* The thread that is reading its storage before it calls a plugin's handler; 0 for none. */
static atomic_int reading_thread;

/* Calls the handler that a plugin has set. Returns whether the signal is dealt with. */
static bool call_handler(size_t index, siginfo_t *info, void *context) {
    int number = signal_at(index);
    signal_handler handler = atomic_load(&actions[index].handler);
    if (handler == default_handler) return false;
    // The thread's storage cannot be read if reading it has brought the thread here.
    if (atomic_load(&reading_thread) == raw_thread()) return false;
    atomic_store(&reading_thread, raw_thread());
    bool is_whole = watch_storage_is_whole();
    atomic_store(&reading_thread, 0);
    // What a thread that has called no plugin does cannot be a plugin's crash, and its storage is not marked.
    if (!is_whole && (index < crash_count || watch_has_marked_storage())) return false;
    // A fault ends the process even if it is ignored, and so does abort().
    bool ends = number == SIGABRT || (index < crash_count && info->si_code > 0);
    if ((uintptr_t)handler == (uintptr_t)SIG_IGN) return !ends;
    // Deeper on the stack than the last call: that one has not returned, its handler has crashed. Handlers that
    // leave by siglongjmp() do not return either, but then the next signal begins at the stack's top again.
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0), outer = handler_frame;
    if (index < crash_count) {
        if (outer != 0 && frame < outer) return false;
        handler_frame = frame;
    }
    int flags = atomic_load(&actions[index].flags);
    if (flags & SA_RESETHAND) atomic_store(&actions[index].handler, default_handler);
    block_as_asked(index, flags);
    handler(number, info, context);
    // The mask that is set when the handler returns.
    remove_crashes(&((ucontext_t *)context)->uc_sigmask);
    handler_frame = outer;
    return number != SIGABRT;
}

/* Clears the flag that makes unaligned accesses fault (AC): the kernel leaves it set in signal handlers. */
static void allow_unaligned(void) {
#if defined(__x86_64__)
    /* Below the red zone of the function that this is inlined in. */
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandl $~0x40000, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::: "cc", "memory");
#endif
}

/* Whether another process has sent a signal: then it is none of a plugin's doing. */
static bool is_of_other(const siginfo_t *info) {
    bool is_sent = info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
    return is_sent && info->si_pid != raw_process();
}

static void on_signal(int number, siginfo_t *info, void *context) {
    allow_unaligned();
    size_t index = index_of(number);
    struct guard_call call;
    if (guard_has_raised(info, context, &call)) watch_end_asked(&call);
    if (index == signal_count || call_handler(index, info, context)) return;
    int end = number;
    if (index < crash_count) {
        end = watch_report_crash(number);
    } else if (watch_is_reporting_end()) {
        return;
    } else if (number == SIGQUIT) {
        cpluginwatch_signal_received(number, info);
    } else if (!is_of_other(info)) {
        watch_report_end_by_signal("has ended the process by ", number);
    }
    raw_set_default(end);
    /* A fault repeats when this returns; all others must be raised again. */
    if (end != number || index >= crash_count || info->si_code <= 0 || number == SIGTRAP || number == SIGSYS) {
        raw_signal(raw_thread(), end);
    }
}

void watch_handle_signals(void) {
    for (size_t i = 0; i < signal_count; i++) {
        struct sigaction action, former;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_signal;
        // A crash within the handler of a crash is reported, too.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | (i < crash_count ? SA_NODEFER : 0);
        if (sigaction(signal_at(i), NULL, &former) != 0) continue;
        if (!(former.sa_flags & SA_SIGINFO) && former.sa_handler == SIG_DFL) {
            actions[i].is_reported = sigaction(signal_at(i), &action, NULL) == 0;
        }
    }
}

bool watch_handles(int number) {
    size_t index = index_of(number);
    return index < signal_count && actions[index].is_reported;
}

void watch_unblock(void) {
    sigset_t faults;
    sigemptyset(&faults);
    for (size_t i = 0; i < crash_count; i++) sigaddset(&faults, signals[i]);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

/* The handler of signals that plugins have set to end the process, but for the program do nothing. */
static void ignore(int number, siginfo_t *info, void *context) { (void)number, (void)info, (void)context; }

bool cpluginwatch_has_set_action(int number) {
    return number > 0 && number <= 64 && (atomic_load(&set_signals) & 1ULL << (number - 1)) != 0;
}

bool cpluginwatch_set_action(int number, const struct sigaction *action, struct sigaction *former,
                             const void *caller) {
    if (action && number > 0 && number <= 64 && watch_is_of_plugin(caller)) {
        atomic_fetch_or(&set_signals, 1ULL << (number - 1));
        // The program's next write to a closed pipe, or beyond a limit, would end it without a word.
        if ((number == SIGPIPE || number == SIGXFSZ) && action->sa_sigaction == default_handler) {
            struct sigaction ignoring = {.sa_sigaction = ignore, .sa_flags = SA_SIGINFO | SA_RESTART};
            return sigaction(number, &ignoring, former) == 0;
        }
    }
    size_t index = index_of(number);
    if (index == signal_count || !watch_applies() || !actions[index].is_reported) return false;
    bool is_set = atomic_load(&actions[index].is_set);
    if (watch_is_of_program(caller)) {
        if (action && action->sa_sigaction == on_signal) atomic_store(&actions[index].is_set, false);
        if (action || !is_set) return false;
    }
    if (former) {
        memset(former, 0, sizeof *former);
        former->sa_sigaction = is_set ? atomic_load(&actions[index].handler) : default_handler;
        former->sa_flags = is_set ? atomic_load(&actions[index].flags) : 0;
        uint64_t mask = is_set ? atomic_load(&actions[index].mask) : 0;
        memcpy(&former->sa_mask, &mask, sizeof mask);
    }
    if (action) {
        uint64_t mask;
        memcpy(&mask, &action->sa_mask, sizeof mask);
        atomic_store(&actions[index].mask, mask);
        atomic_store(&actions[index].handler, action->sa_sigaction);
        atomic_store(&actions[index].flags, action->sa_flags);
        atomic_store(&actions[index].is_set, action->sa_sigaction != default_handler);
    }
    return true;
}

void cpluginwatch_mask_set(const void *caller) {
    if (watch_depth() > 0 && watch_is_of_plugin(caller)) watch_unblock();
}

void cpluginwatch_will_set_mask(sigset_t *mask, const void *caller) {
    if (watch_depth() > 0 && watch_is_of_plugin(caller)) remove_crashes(mask);
}

void cpluginwatch_signal_sent(int number, const void *caller) {
    if (!watch_is_of_plugin(caller)) return;
    size_t index = index_of(number);
    if (index < crash_count) {
        // Another thread might be the one that gets the signal, and is not known to be the plugin's.
        if (!actions[index].is_reported || atomic_load(&actions[index].is_set)) return;
        watch_report_end_by_signal("has crashed with ", number);
        raw_set_default(number);
        return;
    }
    struct sigaction action;
    if (number <= 0 || sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) return;
    if (action.sa_handler == SIG_DFL) {
        if (number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT) return;
        if (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) {
            watch_report_signal("has stopped the process by ", number);
            return;
        }
    } else if (!watch_is_of_program((const void *)(uintptr_t)action.sa_handler)) {
        return;
    }
    watch_report_end_by_signal("has ended the process by ", number);
    watch_end_process(watch_exit_code());
}

void cpluginwatch_signal_asked(int number, const void *caller) {
    if (!watch_is_of_plugin(caller)) return;
    // There can be no handler for these.
    if (number == SIGKILL || number == SIGSTOP) cpluginwatch_signal_sent(number, caller);
    // While it is loaded, the plugin is not among those that reports name.
    const struct call *call = watch_current_call();
    if (call && !call->is_thread && strcmp(call->hook, "load") == 0) cpluginwatch_note(call->plugin, 0);
}

void cpluginwatch_signal_received(int number, const siginfo_t *info) {
    // The terminal's signals come from the kernel; those of timers, descriptors and queues have other codes.
    if (!watch_applies() || info->si_code == SI_KERNEL || is_of_other(info)) return;
    watch_report_end_by_signal("has ended the process by ", number);
    watch_end_process(watch_exit_code());
}

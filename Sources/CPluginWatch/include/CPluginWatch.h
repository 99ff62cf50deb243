/*
 * CPluginWatch.h - Records which plugin a thread is running, and prints one line that names it when
 * the process crashes or a plugin ends the process.
 *
 * Off until cpluginwatch_report() is called. Call cpluginwatch_enter() and cpluginwatch_leave() only
 * while it is on.
 */
#ifndef CPLUGINWATCH_H
#define CPLUGINWATCH_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Turns reports on; they are written to a descriptor.
 *
 * Reported are: crashes, abort() and the signals of timers and limits, after which the process ends by the same signal;
 * exit() and quick_exit(), and SIGQUIT from a plugin, after which the process ends with exit_code (SIGQUIT of the terminal
 * and of other processes is not reported); copies of the process that a plugin makes, which end when they return from the
 * plugin. One line is written about the end of the process, also where several threads crash at once. Signals that already
 * have a handler keep it.
 *
 * reader: the reading end of a pipe, without blocking; -1 for none. What is in it is written to the descriptor before
 * a report, with "?" in place of bytes other than printable ASCII.
 *
 * Further calls set the arguments again, and let exit() be reported again. Thread: one at a time.
 */
void cpluginwatch_report(int exit_code, int descriptor, int reader);

/*
 * Records whether the program reads from the pipe of cpluginwatch_report() itself, and writes to its descriptor what it
 * has read: a report waits for that, for 0.2 s. Thread: one at a time.
 */
void cpluginwatch_set_copying(bool copies);

/*
 * Also reports plugins that end the process with functions of the C library that they have looked up, or with system
 * calls of their own; call it after cpluginwatch_report(). Uses a seccomp filter, which processes that this one
 * starts inherit, and without CAP_SYS_ADMIN sets PR_SET_NO_NEW_PRIVS. Has no effect where that is not possible, where
 * addresses are not random, and on machines other than x86-64. Not reported are calls with the exit code 127, which
 * are those of posix_spawn(), and calls in constructors and in code that the plugin loads or makes itself.
 *
 * The program itself must end by cpluginwatch_end(), or by exit() after cpluginwatch_expect_exit(). Thread: that of
 * cpluginwatch_report().
 */
void cpluginwatch_guard(void);

/* To be called after a library was loaded: does for it what cpluginwatch_guard() does. Thread: any. */
void cpluginwatch_loaded(void);

/* The number of filters that the two functions above have installed. Thread: that which loads libraries. */
int cpluginwatch_filter_count(void);

/* Whether reports are on. Thread: any. */
bool cpluginwatch_is_on(void);

/*
 * For a program whose _exit() calls this. While reports are on, reports the call, and the process ends with the
 * exit_code of cpluginwatch_report(); else it ends as _exit() does. In a child process, as _exit() does. Thread:
 * any.
 */
void cpluginwatch_exit(int exit_code);

/*
 * For a program whose syscall() calls this before SYS_exit_group. If a plugin has called it while reports are on,
 * reports the call, and the process ends with the exit_code of cpluginwatch_report(); else returns.
 *
 * caller: the address that the program's syscall() returns to. Thread: any.
 */
void cpluginwatch_exit_group(const void *caller);

/*
 * For a program whose exit() calls this first. While reports are on, reports the call and ends the process, unless
 * it is the first one after cpluginwatch_expect_exit(). Thread: any.
 */
void cpluginwatch_exit_called(int exit_code);

/*
 * For a program whose pthread_exit() and the like call this first. If a plugin would so end a thread in which the
 * program has called it, while reports are on, reports the call, whose name is passed, and ends the process. Thread: any.
 */
void cpluginwatch_thread_exit(const char *call);

/* For a program whose pthread_cancel() calls the first of these for the calling thread, and the second for another one,
 * and whose pthread_setcancelstate() calls the others before it enables and disables cancellation. Together they do what
 * cpluginwatch_thread_exit() does. Where enabling returns true, a cancellation that is pending then must be reported by
 * cpluginwatch_thread_exit(). Thread: any. */
void cpluginwatch_cancel_self(void);
void cpluginwatch_cancel_other(pthread_t thread);
bool cpluginwatch_enable_cancel(void);
void cpluginwatch_disable_cancel(void);

/* For a program whose quick_exit() calls this first, and that never calls quick_exit() itself. While reports are on,
 * reports the call and ends the process. Thread: any. */
void cpluginwatch_quick_exit_called(void);

/*
 * For a program whose daemon() calls this first. While reports are on, reports the call and ends the process; else
 * returns false. Thread: any.
 */
bool cpluginwatch_daemon(void);

/*
 * For a program whose exec functions call this first. Within a plugin, or after cpluginwatch_expect_exit(), while
 * reports are on, reports the call and ends the process; else, and in a child process, returns. Thread: any.
 */
void cpluginwatch_exec(void);

/*
 * For a program whose _Fork(), clone() and syscall() call this before they copy the process. Within a plugin, while
 * reports are on, reports the call, whose name is passed. fork() is reported without it. Thread: any.
 */
void cpluginwatch_copies(const char *call);

/*
 * Keeps plugins from closing a descriptor, in a program whose close() calls cpluginwatch_refuses_close(), until the
 * program closes it. Those of the first cpluginwatch_report() are kept already. The standard streams are not kept, and
 * neither are descriptors from 4096 on. Thread: any.
 */
void cpluginwatch_keep(int descriptor);

/*
 * Writes what the C library holds of standard output, as exit() does: without the stream's lock, which a thread
 * may never release. Thread: any, at the end of the process.
 */
void cpluginwatch_flush_output(void);

/*
 * For a program whose socket(), pipe() and the like call this after they have opened a descriptor. Keeps it if the
 * program has opened it, or one of its libraries outside of plugins; else it is a plugin's. Does nothing for a
 * negative one.
 *
 * caller: the address that the program's function returns to. Thread: any.
 */
void cpluginwatch_opened(int descriptor, const void *caller);

/*
 * For a program whose close() and the like call this before they close the descriptors from first to last. If a
 * plugin would so close a kept one while reports are on, returns true with EBADF in errno, and reports the first such
 * call: the function must fail then, and close none of them. Else they are no longer kept.
 *
 * caller: the address that the program's function returns to. Thread: any.
 */
bool cpluginwatch_refuses_close(unsigned first, unsigned last, const void *caller);

/*
 * For a program whose ptrace() calls this before it lets the parent process trace this one (PTRACE_TRACEME): a parent
 * that does not know of it would never see the end of this process. If a plugin calls it while reports are on, reports
 * the call and returns true with EPERM in errno: the function must fail then.
 *
 * caller: the address that the program's function returns to. Thread: any.
 */
bool cpluginwatch_refuses_trace(const void *caller);

/*
 * For a program whose pthread_setattr_default_np() calls this: with small stacks its threads, and those of its
 * libraries, would crash later. If a plugin calls it while reports are on, reports the call and returns true: the
 * function must fail then.
 *
 * caller: the address that the program's function returns to. Thread: any.
 */
bool cpluginwatch_refuses_defaults(const void *caller);

/*
 * For a program whose pthread_sigmask(), sighold() and the like call this after they have set the mask. If a plugin has
 * set it, the signals of crashes are unblocked again: a crash would else end the process without a report. Thread: any.
 */
void cpluginwatch_mask_set(const void *caller);

/*
 * For a program whose siglongjmp(), setcontext(), sigaction() and sigsuspend() call this with the mask that is set when
 * they do not return, in a handler, or while they wait. If a plugin calls them, removes the signals of crashes from it.
 * Thread: any.
 */
void cpluginwatch_will_set_mask(sigset_t *mask, const void *caller);

/*
 * For a program whose sigaction() and signal() call this first, and return when it returns true. A plugin that sets
 * the action of a reported signal gets what it asks for, except that a crash which its handler does not deal with is
 * still reported: its handler is called by that of the reports. If a plugin sets
 * SIGPIPE or SIGXFSZ to end the process, they do nothing instead.
 *
 * action, former: as for sigaction(). caller: the address that the program's function returns to. Thread: any.
 */
bool cpluginwatch_set_action(int number, const struct sigaction *action, struct sigaction *former,
                             const void *caller);

/* Whether a plugin has ever set the action of a signal, as far as cpluginwatch_set_action() knows. Thread: any. */
bool cpluginwatch_has_set_action(int number);

/*
 * For a program whose sigaltstack() calls this, and then only returns the current stack. Returns whether a plugin
 * calls it on a thread that has the reports' stack, which its handlers use as well. Thread: any.
 */
bool cpluginwatch_keeps_stack(const void *caller);

/*
 * For a program whose kill(), raise() and the like call this before they send a signal to the process itself. If a
 * plugin calls it and the signal would end the process, reports that and ends the process with the exit_code of
 * cpluginwatch_report(); for a crash signal, reports it and ends the process by it.
 *
 * caller: the address that the program's function returns to. Thread: any.
 */
void cpluginwatch_signal_sent(int number, const void *caller);

/*
 * For a program whose timer_create(), mq_notify() and fcntl() call this before they let the kernel send a signal. Does
 * what cpluginwatch_signal_sent() does if no handler can be set for the signal.
 *
 * caller: the address that the program's function returns to. Thread: any.
 */
void cpluginwatch_signal_asked(int number, const void *caller);

/*
 * For a program whose handlers of SIGTERM, SIGINT and SIGHUP call this first. If a plugin lets the kernel send them,
 * by a timer, a descriptor or a message queue, or if the process has sent them to itself, reports that and ends the
 * process with the exit_code of cpluginwatch_report(). Called for SIGQUIT, too. Async-signal-safe.
 */
void cpluginwatch_signal_received(int number, const siginfo_t *info);

/* Ends the process without exit handlers and without a report. Thread: any. */
void cpluginwatch_end(int exit_code) __attribute__((noreturn));

/* The program itself is about to call exit(), which is not reported then. Thread: the one that calls exit(). */
void cpluginwatch_expect_exit(void);

/*
 * Ends the process after a time, on a thread of its own that needs no descriptor: for a program that a plugin may
 * hold up everywhere else. The message is written as one line before. Returns whether the thread was started.
 * Thread: any.
 */
bool cpluginwatch_end_after(long milliseconds, int exit_code, const char *message);

/* The type of pthread_create(). */
typedef int (*cpluginwatch_thread_creator)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/*
 * Starts a thread. If a plugin starts it while reports are on, what it does is reported with the hooks of the plugin's
 * library that are recorded then, and a stack overflow in it is reported, too. A report begins with a plugin only if it
 * is that of all these hooks, or if there is none and the library has one plugin. For a program whose pthread_create()
 * calls this.
 *
 * create: the C library's pthread_create(). caller: the address that the program's pthread_create() returns to.
 */
int cpluginwatch_create_thread(cpluginwatch_thread_creator create, pthread_t *thread,
                               const pthread_attr_t *attributes, void *(*run)(void *), void *argument,
                               const void *caller);

/* A thread that a plugin has started. */
typedef struct cpluginwatch_thread {
    pid_t number;    /* its id in the kernel */
    char plugin[96]; /* the plugin's id */
} cpluginwatch_thread;

/*
 * Lists the threads that plugins have started in their hooks since reports were turned on, and whose functions have
 * not returned. Threads that libraries shared with the program have started are missing, and so are those beyond 256
 * at a time. Returns their number, at most `count`. Thread: any.
 */
size_t cpluginwatch_threads(cpluginwatch_thread *threads, size_t count);

/* What a plugin was reported for. */
typedef struct cpluginwatch_fact {
    char plugin[96]; /* the plugin's id; empty if it is not known */
    char hook[64];   /* the hook; empty if it is not known */
    char text[112];  /* what the plugin has done */
    bool is_copy;    /* whether it has copied the process */
} cpluginwatch_fact;

/*
 * Lists what plugins were reported for since reports were turned on, also by copies of the process, without the end of
 * the process. Those beyond 32 are missing. Returns their number, at most `count`. Thread: any.
 */
size_t cpluginwatch_facts(cpluginwatch_fact *facts, size_t count);

/* Adds the id of a plugin to those that reports outside of hooks name. library: as for cpluginwatch_enter(); 0 if it
 * is not known. Thread: any. */
void cpluginwatch_note(const char *plugin, uint32_t library);

/*
 * Records that the calling thread enters a plugin's code: the plugin's id, the hook, and the hook's
 * subject ("" for none). The texts are copied and truncated; bullets (U+2022), which stand for secrets, become "*",
 * and bytes other than printable ASCII "?". Calls nest.
 *
 * library: a number of the plugin's library, which plugins and instances share that are in one.
 */
void cpluginwatch_enter(const char *plugin, const char *hook, const char *subject, uint32_t library);

/*
 * Records that the hook which the calling thread is in has returned OUTLET_PENDING: the record stays after
 * cpluginwatch_leave(). Returns its number, for cpluginwatch_answered(), which must be called once; 0 if there is no
 * record.
 */
uint32_t cpluginwatch_pending(void);

/* Records that the answer of a pending hook is not needed any more, though the plugin may still work on it. Thread:
 * any, not after cpluginwatch_answered(). */
void cpluginwatch_cancelled(uint32_t call);

/* Ends the record of a pending hook. Thread: any. */
void cpluginwatch_answered(uint32_t call);

/* Records that the calling thread has returned from the plugin's code. In a child that the plugin has made
 * by fork(), ends the process. */
void cpluginwatch_leave(void);

/*
 * Returns the subject of the plugin call that the calling thread is in; NULL if it is in none, or the subject is empty.
 * The text is valid until the next cpluginwatch_enter() on the thread. Thread: any.
 */
const char *cpluginwatch_subject(void);

#endif

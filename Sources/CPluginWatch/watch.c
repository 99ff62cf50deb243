#define _GNU_SOURCE
#include "CPluginWatch.h"
#include "guard.h"
#include "raw.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    depth_limit = 4,
    line_size = 1024,
    stack_size = 65536,
    library_limit = 256,
    kept_limit = 4096,
    listed_limit = 256,
    thread_limit = 256,
    noted_limit = 64,
    named_limit = 4
};

/* A call of a plugin's code. */
struct call {
    char plugin[96], hook[64], subject[256];
    /* The number of the plugin's library. */
    uint32_t library;
    /* Whether it is a thread that the plugin has started in the hook. */
    bool is_thread;
};

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
    /* inside_mark() once make_ready() was called; anything else may have been written by a plugin. */
    uintptr_t mark;
    int depth;
    /* Whether make_ready() was called for the thread. */
    bool is_ready;
    /* Whether a plugin has enabled cancellation in a call that must return. */
    bool is_cancellable;
    /* The thread's id in the kernel. */
    pid_t number;
    /* Whether a copy of the process that the thread makes is reported by the parent. */
    bool is_copy_reported;
    /* Whether the thread was cancelled while it could not be. */
    bool is_cancelled;
    /* The frame in which on_signal() has last called a plugin's handler; 0 before. */
    uintptr_t handler_frame;
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

static atomic_bool is_on;
static atomic_bool is_exit_expected;
static atomic_int code;
static atomic_int process;
static atomic_int output = STDERR_FILENO;
/* The pipe that is emptied before a report; -1 for none. */
static atomic_int input = -1;
/* The files of the descriptors above. */
static uint64_t output_file, input_file;
/* The files of the descriptors that plugins cannot close; 0 for others. */
static _Atomic uint64_t kept[kept_limit];
static atomic_bool is_close_reported;
/* The plugins; the last ones are missing where there is no room. */
static struct {
    char plugin[96];
    uint32_t library;
} noted[noted_limit];
/* Their number; noted_limit + 1 if there was no room. */
static atomic_int noted_count;
static pthread_mutex_t noted_lock = PTHREAD_MUTEX_INITIALIZER;
/* Whether cpluginwatch_guard() was called. */
static atomic_bool is_guarding;
/* How often exit() was called since cpluginwatch_expect_exit(); the code and the thread of the first call. */
static atomic_int exits, exit_code_asked, exit_thread;
static pthread_key_t stacks;
/* A byte that is 1, and 0 in copies of the process, however they were made (MADV_WIPEONFORK); NULL if the kernel
 * cannot do that. */
static const volatile char *original;

/* The code of the program and of the libraries that were loaded before the first plugin. */
static struct {
    uintptr_t start, end;
    /* Whether it starts threads for its callers only: std::thread of the C++ library. */
    bool starts_for_callers;
} libraries[library_limit];
static int library_count;

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

/* The following functions may run in a signal handler: no allocation, no stdio, no locks. */

static void append(char *line, const char *text) {
    size_t end = strlen(line);
    while (*text && end < line_size - 2) line[end++] = *text++;
    line[end] = 0;
}

/* A number for the file of a descriptor, the same for all others of the file; 0 if it is not open. */
static uint64_t file_of(int descriptor) {
    struct stat now;
    if (raw_fstat(descriptor, &now) != 0) return 0;
    return ((uint64_t)now.st_dev << 40 ^ now.st_ino) << 1 | 1;
}

/* Whether a descriptor still is a file: a plugin may have closed it, or have made it another file. */
static bool is_still(int descriptor, uint64_t file) { return file != 0 && file_of(descriptor) == file; }

/* Writes to the descriptor. If a plugin has closed that, or has made it another file: to stderr, or, where that is a
 * pipe of the program's, to the terminal. */
static void write_all(const char *text, size_t length) {
    int descriptor = atomic_load(&output);
    if (!is_still(descriptor, output_file)) {
        descriptor = STDERR_FILENO;
        if (atomic_load(&input) >= 0 && !is_still(descriptor, output_file)) {
            descriptor = raw_open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
        }
    }
    raw_write(descriptor, text, length);
}

/* Whether the program is copying what was in the pipe. */
static atomic_bool is_copying;

void cpluginwatch_set_copying(bool copies) { atomic_store(&is_copying, copies); }

/* Waits until the program has written what it has read from the pipe; not for ever, because the terminal may not
 * accept anything. */
static void await_copying(void) {
    for (int i = 0; i < 200 && atomic_load(&is_copying); i++) raw_wait_millisecond();
}

/* Writes a line, after what is in the pipe, and what the program has read from it. */
static void write_line(char *line) {
    char text[line_size];
    int pipe = atomic_load(&input);
    await_copying();
    /* At most what the pipe holds: a plugin that goes on writing must not hold the report up. */
    for (int i = 0; i < 65536 / line_size && is_still(pipe, input_file); i++) {
        long count = raw_read(pipe, text, sizeof text);
        if (count <= 0) break;
        for (long k = 0; k < count; k++) {
            if ((text[k] < ' ' || text[k] > '~') && text[k] != '\n') text[k] = '?';
        }
        write_all(text, (size_t)count);
    }
    await_copying();
    size_t length = strlen(line);
    line[length++] = '\n';
    write_all(line, length);
}

/* The innermost call that the thread is in; NULL for none. */
static const struct call *current_call(void) {
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

/* The listed calls of the plugins of a library. */
struct found {
    /* The number of calls whose answers are needed; if there are none, of those that were cancelled. */
    int count;
    /* The first of them. */
    struct call calls[named_limit];
    bool are_cancelled;
    /* The plugin that all calls are of, also cancelled ones; empty for several and for none. */
    char plugin[sizeof listed->plugin];
};

static void find_calls(uint32_t library, struct found *found) {
    struct call call;
    bool is_any = false;
    memset(found, 0, sizeof *found);
    for (uint32_t state = is_open; state <= is_cancelled; state++) {
        bool is_counted = found->count == 0;
        for (int i = 0; i < listed_limit; i++) {
            if (!read_listed(i, state, &call) || call.library != library) continue;
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

/* The number of plugins of a library, as far as that is known; else noted_limit + 1. */
static int count_noted(uint32_t library) {
    int known = atomic_load(&noted_count), count = 0;
    if (known > noted_limit) return known;
    for (int i = 0; i < known; i++) count += noted[i].library == library;
    return count;
}

/* Appends the ids of the plugins of a library, or of all, after a text; nothing if there are none. */
static void append_noted(char *line, const char *text, const uint32_t *library) {
    int known = atomic_load(&noted_count);
    for (int i = 0; i < known && i < noted_limit; i++) {
        if (library && noted[i].library != *library) continue;
        if (strlen(line) + strlen(text) + strlen(noted[i].plugin) > line_size - 2) break;
        append(line, text);
        append(line, noted[i].plugin);
        text = ", ";
    }
}

static void append_number(char *line, unsigned number) {
    char digits[12];
    size_t start = sizeof digits - 1;
    digits[start] = 0;
    do {
        digits[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    append(line, digits + start);
}

static void append_hook(char *line, const struct call *call) {
    append(line, call->hook);
    append(line, call->subject[0] ? " of " : "");
    append(line, call->subject);
}

static void append_plugin(char *line, const char *plugin) {
    append(line, "plugin ");
    append(line, plugin);
    append(line, ": ");
}

/* Appends what happened in a thread that a plugin has started. The thread may work for any plugin of its library: a
 * plugin is named first only if it is known. */
static void append_thread(char *line, const struct call *thread, const char *what, const char *name) {
    struct found found;
    find_calls(thread->library, &found);
    bool is_whole = atomic_load(&unlisted) == 0, is_only = count_noted(thread->library) <= 1;
    const char *plugin = is_whole && found.plugin[0] ? found.plugin : is_only ? thread->plugin : NULL;
    if (plugin) append_plugin(line, plugin);
    append(line, what);
    append(line, name);
    append(line, " in a thread that ");
    append(line, plugin && strcmp(plugin, thread->plugin) == 0 ? "it" : thread->plugin);
    append(line, " started in ");
    append(line, thread->hook);
    if (found.count > 0) append(line, ", during ");
    if (found.count > 1 || (found.count > 0 && !is_whole)) {
        append(line, "one of ");
        append_number(line, (unsigned)found.count);
        append(line, is_whole ? " hooks: " : " or more hooks: ");
    }
    for (int i = 0; i < found.count && i < named_limit; i++) {
        if (i > 0) append(line, "; ");
        append(line, plugin ? "" : found.calls[i].plugin);
        append(line, plugin ? "" : " in ");
        append_hook(line, &found.calls[i]);
        append(line, found.are_cancelled ? " (cancelled)" : "");
    }
    if (!plugin && !(is_whole && found.count > 0)) {
        append_noted(line, "; the plugins of its library are ", &thread->library);
    }
}

/* The threads of plugins whose functions have not returned; those with the number 0 are free. */
static cpluginwatch_thread threads[thread_limit];
/* The calls in which they were started. */
static struct call thread_calls[thread_limit];
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;

/* The innermost call that a thread is in as far as it is known without the thread's own storage; NULL for none. */
static const struct call *recorded_call(pid_t number) {
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

/* Whether the thread's own storage is as it was left: no plugin has written to it. */
static bool is_inside_whole(void) {
    if (inside.mark != inside_mark() || inside.depth < 0) return false;
    for (int i = 0; i < inside.depth && i < depth_limit; i++) {
        if (inside.calls[i].index < 0 || inside.calls[i].index > listed_limit) return false;
    }
    return true;
}

/* Makes the line of a report: the plugin, what happened, and the hook. */
static void compose(char *line, const struct call *call, const char *what, const char *name) {
    if (call && call->is_thread) {
        append_thread(line, call, what, name);
        return;
    }
    if (call) append_plugin(line, call->plugin);
    append(line, what);
    append(line, name);
    if (call) {
        append(line, " in ");
        append_hook(line, call);
    } else if (atomic_load(&is_exit_expected)) {
        append(line, " while the program ends: in an exit handler, a destructor or a thread of a plugin's");
    } else {
        append(line, " outside of every hook: in a thread of a plugin's, or in the program");
        append_noted(line, "; the plugins are ", NULL);
    }
}

/* Writes one line about a call; NULL for none. */
static void report_call(const struct call *call, const char *what, const char *name) {
    char line[line_size] = "outlet: ";
    compose(line, call, what, name);
    write_line(line);
}

/* Writes one line: the plugin, what happened, and the hook. */
static void report(const char *what, const char *name) {
    report_call(is_inside_whole() ? current_call() : recorded_call(raw_thread()), what, name);
}

/* The thread that writes, or has written, the line about the end of the process; 0 for none. */
static atomic_int ending_thread;
/* How far it is. */
static atomic_int ending_stage;
enum { is_unwritten, is_written_again, is_line_written };
/* The signal of a crash that it reports. */
static atomic_int ending_signal;
/* How long other threads wait for it, in milliseconds: a terminal may not accept anything. */
enum { ending_wait = 5000 };

/* Whether the calling thread has to write the line about the end of the process. If another thread does, waits for the
 * end, and returns false if that does not come. */
static bool begins_end(void) {
    pid_t self = raw_thread();
    for (int i = 0; i < ending_wait; i++) {
        int other = 0;
        if (atomic_compare_exchange_strong(&ending_thread, &other, self)) return true;
        if (other == self) return false;
        // It was in a process of which this one is a copy, or which shares its memory.
        if (raw_signal(other, 0) == -ESRCH) atomic_compare_exchange_strong(&ending_thread, &other, 0);
        raw_wait_millisecond();
    }
    return false;
}

/* Writes the line about the end of the process, unless there is one already. The caller must end the process. */
static void report_end(const char *what, const char *name) {
    if (!begins_end()) return;
    report(what, name);
    atomic_store(&ending_stage, is_line_written);
}

enum { name_size = 32 };

/* The name of a signal. */
static const char *signal_name(int number, char buffer[name_size]) {
    const char *abbreviation = sigabbrev_np(number);
    if (!abbreviation) return "a real-time signal";
    size_t length = strlen(abbreviation);
    if (length > name_size - 4) length = name_size - 4;
    memcpy(buffer, "SIG", 3);
    memcpy(buffer + 3, abbreviation, length);
    buffer[length + 3] = 0;
    return buffer;
}

/* Writes one line about a signal. */
static void report_signal(const char *what, int number) {
    char buffer[name_size];
    report(what, signal_name(number, buffer));
}

/* Writes the line about the end of the process by a signal, as report_end(). */
static void report_end_by_signal(const char *what, int number) {
    char buffer[name_size];
    report_end(what, signal_name(number, buffer));
}

/* Writes the line about a crash, as report_end(). If the calling thread has crashed while it was writing that, for
 * example because its storage cannot be read, writes the line once more without the thread's storage.
 *
 * Returns the signal that the process must end by. */
static int report_crash(int number) {
    static const char what[] = "has crashed with ";
    char buffer[name_size];
    if (begins_end()) {
        atomic_store(&ending_signal, number);
        report(what, signal_name(number, buffer));
        atomic_store(&ending_stage, is_line_written);
        return number;
    }
    if (atomic_load(&ending_thread) != raw_thread()) return number;
    int first = atomic_load(&ending_signal), unwritten = is_unwritten;
    if (first != 0) number = first;
    if (atomic_compare_exchange_strong(&ending_stage, &unwritten, is_written_again)) {
        report_call(recorded_call(raw_thread()), what, signal_name(number, buffer));
        atomic_store(&ending_stage, is_line_written);
    }
    return number;
}

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
    bool is_whole = is_inside_whole();
    atomic_store(&reading_thread, 0);
    if (!is_whole) return false;
    // A fault ends the process even if it is ignored, and so does abort().
    bool ends = number == SIGABRT || (index < crash_count && info->si_code > 0);
    if ((uintptr_t)handler == (uintptr_t)SIG_IGN) return !ends;
    // Deeper on the stack than the last call: that one has not returned, its handler has crashed. Handlers that
    // leave by siglongjmp() do not return either, but then the next signal begins at the stack's top again.
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0), outer = inside.handler_frame;
    if (index < crash_count) {
        if (outer != 0 && frame < outer) return false;
        inside.handler_frame = frame;
    }
    int flags = atomic_load(&actions[index].flags);
    if (flags & SA_RESETHAND) atomic_store(&actions[index].handler, default_handler);
    block_as_asked(index, flags);
    handler(number, info, context);
    // The mask that is set when the handler returns.
    remove_crashes(&((ucontext_t *)context)->uc_sigmask);
    inside.handler_frame = outer;
    return number != SIGABRT;
}

static bool is_of_program(const void *address);
static void end_asked(const struct guard_call *call);

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
    if (guard_has_raised(info, context, &call)) end_asked(&call);
    if (index == signal_count || call_handler(index, info, context)) return;
    int end = number;
    if (index < crash_count) {
        end = report_crash(number);
    } else if (atomic_load(&ending_thread) == raw_thread()) {
        return;
    } else if (number == SIGQUIT) {
        cpluginwatch_signal_received(number, info);
    } else if (!is_of_other(info)) {
        report_end_by_signal("has ended the process by ", number);
    }
    raw_set_default(end);
    /* A fault repeats when this returns; all others must be raised again. */
    if (end != number || index >= crash_count || info->si_code <= 0 || number == SIGTRAP || number == SIGSYS) {
        raw_signal(raw_thread(), end);
    }
}

/* Calls exit_group directly, so that no exit handlers run. */
static void end_process(int exit_code) { guard_end(exit_code); }

/* Whether reports are on and this process is not a child. */
static bool is_watched(void) { return cpluginwatch_is_on() && raw_process() == atomic_load(&process); }

static void end_because(const char *call) {
    report_end("has called ", call);
    end_process(atomic_load(&code));
}

/* Whether the C library ends the process because the program has called exit(). Functions that end the process
 * within the library, such as errx(), call none of those that the program replaces; with the same exit code they
 * change nothing. */
static bool is_end_of_exit(const struct guard_call *call) {
    if (!atomic_load(&is_exit_expected) || !is_of_program(call->address)) return false;
    if (atomic_load(&exits) == 0) return true;
    return atomic_load(&exit_thread) == gettid() && ((atomic_load(&exit_code_asked) ^ call->exit_code) & 0xFF) == 0;
}

/* Ends the process, as code of the C library or of a plugin asks for by a system call. */
static void end_asked(const struct guard_call *call) {
    if (is_watched() && !is_end_of_exit(call)) {
        if (call->is_of_linker) {
            report_end("has made the dynamic linker end the process", "");
            end_process(atomic_load(&code));
        }
        end_because("exit_group()");
    }
    end_process(call->exit_code);
}

static void on_exit_call(void) {
    if (is_watched() && !atomic_load(&is_exit_expected)) end_because("exit()");
}

void cpluginwatch_quick_exit_called(void) {
    if (is_watched()) end_because("quick_exit()");
}

/* Whether code of a plugin may run on this thread: in a call, or in exit handlers and destructors. */
static bool may_be_in_plugin(void) { return is_watched() && (inside.depth > 0 || atomic_load(&is_exit_expected)); }

void cpluginwatch_exit_called(int exit_code) {
    if (!is_watched()) return;
    // The program itself calls exit() once. A further call is made by an exit handler or destructor.
    if (!atomic_load(&is_exit_expected) || atomic_load(&exits) != 0) end_because("exit()");
    atomic_store(&exit_code_asked, exit_code);
    atomic_store(&exit_thread, gettid());
    if (atomic_fetch_add(&exits, 1) != 0) end_because("exit()");
}

void cpluginwatch_exit(int exit_code) {
    if (is_watched()) end_because("_exit()");
    end_process(exit_code);
}

bool cpluginwatch_daemon(void) {
    if (is_watched()) end_because("daemon()");
    return false;
}

void cpluginwatch_exec(void) {
    if (may_be_in_plugin()) end_because("exec()");
}

void cpluginwatch_end(int exit_code) {
    for (;;) end_process(exit_code);
}

/* Run before and in the parent after fork(). The child ends in end_copy(). The program itself starts processes by
 * posix_spawn(), which does not call these. */
static void before_fork(void) { inside.is_copy_reported = true; }

static void on_fork(void) {
    if (is_watched()) report("has copied the process with ", "fork()");
}

void cpluginwatch_copies(const char *call) {
    if (!is_watched() || inside.depth == 0) return;
    inside.is_copy_reported = true;
    report("has copied the process with ", call);
}

/* Ends a copy of the process that returns from the plugin which has made it. */
static void end_copy(void) {
    if (!original || *original) return;
    if (!inside.is_copy_reported) report("has copied the process with a system call", "");
    end_process(atomic_load(&code));
}

/* Makes the byte by which copies are known. */
static void mark_original(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        munmap(page, size);
        return;
    }
    *page = 1;
    original = page;
}

/* Unblocks the signals of crashes: the event loop's threads block all, and a hook may do so, too. */
static void unblock(void) {
    sigset_t faults;
    sigemptyset(&faults);
    for (size_t i = 0; i < crash_count; i++) sigaddset(&faults, signals[i]);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

/* Calls what the handler of a crash calls, because a plugin may damage what the dynamic linker needs to find a
 * function at its first call. */
static void bind_functions(void) {
    static const struct call call = {.plugin = "a", .hook = "b", .is_thread = true};
    char line[line_size] = "", name[name_size];
    compose(line, &call, "", signal_name(SIGSEGV, name));
    (void)recorded_call(raw_thread());
}

/* Gives the thread an alternate stack for the signal handler, because the crash may be a stack overflow. */
static void make_ready(void) {
    inside.is_ready = true;
    inside.mark = inside_mark();
    inside.number = raw_thread();
    stack_t current;
    if (sigaltstack(NULL, &current) != 0 || !(current.ss_flags & SS_DISABLE)) return;
    void *memory =
        mmap(NULL, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack = {.ss_sp = memory, .ss_size = stack_size};
    if (sigaltstack(&stack, NULL) != 0 || pthread_setspecific(stacks, memory) != 0) {
        munmap(memory, stack_size);
    }
}

/* Called when the thread ends. */
static void free_stack(void *memory) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    munmap(memory, stack_size);
}

bool cpluginwatch_is_on(void) { return atomic_load_explicit(&is_on, memory_order_relaxed); }

static int note_library(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    (void)data;
    bool starts_for_callers = strstr(info->dlpi_name, "/libstdc++.so") != NULL;
    for (int i = 0; i < info->dlpi_phnum && library_count < library_limit; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        libraries[library_count].starts_for_callers = starts_for_callers;
        libraries[library_count].start = info->dlpi_addr + part->p_vaddr;
        libraries[library_count++].end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

/* The index of the library with an address, among those loaded before the first plugin; library_count for others. */
static int library_of(const void *address) {
    int index = 0;
    for (; index < library_count; index++) {
        uintptr_t start = libraries[index].start, end = libraries[index].end;
        if ((uintptr_t)address >= start && (uintptr_t)address < end) break;
    }
    return index;
}

/* Whether an address lies in the program or a library that was loaded before the first plugin. */
static bool is_of_program(const void *address) { return library_of(address) < library_count; }

/* Whether a call comes from the code of a plugin, as far as the return address tells. */
static bool is_of_plugin(const void *caller) {
    return may_be_in_plugin() && !is_of_program(caller);
}

/* The handler of signals that plugins have set to end the process, but for the program do nothing. */
static void ignore(int number, siginfo_t *info, void *context) { (void)number, (void)info, (void)context; }

bool cpluginwatch_has_set_action(int number) {
    return number > 0 && number <= 64 && (atomic_load(&set_signals) & 1ULL << (number - 1)) != 0;
}

bool cpluginwatch_set_action(int number, const struct sigaction *action, struct sigaction *former,
                             const void *caller) {
    if (action && number > 0 && number <= 64 && is_of_plugin(caller)) {
        atomic_fetch_or(&set_signals, 1ULL << (number - 1));
        // The program's next write to a closed pipe, or beyond a limit, would end it without a word.
        if ((number == SIGPIPE || number == SIGXFSZ) && action->sa_sigaction == default_handler) {
            struct sigaction ignoring = {.sa_sigaction = ignore, .sa_flags = SA_SIGINFO | SA_RESTART};
            return sigaction(number, &ignoring, former) == 0;
        }
    }
    size_t index = index_of(number);
    if (index == signal_count || !is_watched() || !actions[index].is_reported) return false;
    bool is_set = atomic_load(&actions[index].is_set);
    if (is_of_program(caller)) {
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

bool cpluginwatch_keeps_stack(const void *caller) {
    return is_watched() && inside.is_ready && !is_of_program(caller);
}

bool cpluginwatch_refuses_trace(const void *caller) {
    if (!is_of_plugin(caller)) return false;
    report("has tried to let the parent process trace this one by ", "ptrace()");
    errno = EPERM;
    return true;
}

void cpluginwatch_mask_set(const void *caller) {
    if (inside.depth > 0 && is_of_plugin(caller)) unblock();
}

void cpluginwatch_will_set_mask(sigset_t *mask, const void *caller) {
    if (inside.depth > 0 && is_of_plugin(caller)) remove_crashes(mask);
}

/* Notes that the descriptors from first to last are none of the program's. */
static void release(unsigned first, unsigned last) {
    for (unsigned i = first; i <= last && i < kept_limit; i++) {
        if (atomic_load_explicit(&kept[i], memory_order_relaxed) != 0) atomic_store(&kept[i], 0);
    }
}

void cpluginwatch_opened(int descriptor, const void *caller) {
    if (descriptor < 0) return;
    // Libraries that the program and a plugin share open descriptors for either.
    int library = library_of(caller);
    bool is_programs = !cpluginwatch_is_on() || library == 0 || (inside.depth == 0 && library < library_count);
    if (is_programs) {
        cpluginwatch_keep(descriptor);
    } else {
        release((unsigned)descriptor, (unsigned)descriptor);
    }
}

bool cpluginwatch_refuses_close(unsigned first, unsigned last, const void *caller) {
    if (inside.depth > 0 && is_of_plugin(caller)) {
        for (unsigned i = first; i <= last && i < kept_limit; i++) {
            if (!is_still((int)i, atomic_load(&kept[i]))) continue;
            if (!atomic_exchange(&is_close_reported, true)) {
                report("has tried to close descriptors that are not its own", "");
            }
            errno = EBADF;
            return true;
        }
    }
    release(first, last);
    return false;
}

void cpluginwatch_signal_sent(int number, const void *caller) {
    if (!is_of_plugin(caller)) return;
    size_t index = index_of(number);
    if (index < crash_count) {
        // Another thread might be the one that gets the signal, and is not known to be the plugin's.
        if (!actions[index].is_reported || atomic_load(&actions[index].is_set)) return;
        report_end_by_signal("has crashed with ", number);
        raw_set_default(number);
        return;
    }
    struct sigaction action;
    if (number <= 0 || sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) return;
    if (action.sa_handler == SIG_DFL) {
        if (number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT) return;
        if (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) {
            report_signal("has stopped the process by ", number);
            return;
        }
    } else if (!is_of_program((const void *)(uintptr_t)action.sa_handler)) {
        return;
    }
    report_end_by_signal("has ended the process by ", number);
    end_process(atomic_load(&code));
}

void cpluginwatch_signal_asked(int number, const void *caller) {
    if (!is_of_plugin(caller)) return;
    // There can be no handler for these.
    if (number == SIGKILL || number == SIGSTOP) cpluginwatch_signal_sent(number, caller);
    // While it is loaded, the plugin is not among those that reports name.
    const struct call *call = current_call();
    if (call && !call->is_thread && strcmp(call->hook, "load") == 0) cpluginwatch_note(call->plugin, 0);
}

void cpluginwatch_signal_received(int number, const siginfo_t *info) {
    // The terminal's signals come from the kernel; those of timers, descriptors and queues have other codes.
    if (!is_watched() || info->si_code == SI_KERNEL || is_of_other(info)) return;
    report_end_by_signal("has ended the process by ", number);
    end_process(atomic_load(&code));
}

void cpluginwatch_exit_group(const void *caller) {
    if (is_watched() && !is_of_program(caller)) end_because("exit_group()");
}

/* Whether the calling thread runs code of a plugin's in a call by the program, which must return. */
static bool must_return(void) {
    if (!is_watched() || inside.depth == 0) return false;
    const struct call *call = current_call();
    return inside.depth > 1 || !call->is_thread;
}

void cpluginwatch_thread_exit(const char *call) {
    if (!must_return()) return;
    report_end("has ended a thread of the program with ", call);
    end_process(atomic_load(&code));
}

void cpluginwatch_cancel_self(void) {
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_setcancelstate(state, NULL);
    if (state == PTHREAD_CANCEL_ENABLE) cpluginwatch_thread_exit("pthread_cancel()");
    inside.is_cancelled = must_return();
}

void cpluginwatch_cancel_other(pthread_t thread) {
    if (!is_watched()) return;
    for (int i = 0; i < listed_limit; i++) {
        struct call call;
        uint32_t state = atomic_load(&states[i]) % state_count;
        if (state != is_open && state != is_cancelled) continue;
        if (atomic_load(&callers[i].number) == 0 || !pthread_equal(atomic_load(&callers[i].thread), thread)) continue;
        // Either this finds that the other thread can be cancelled, or that finds that it was, when it enables that.
        if (!(atomic_fetch_or(&callers[i].cancel, was_cancelled) & can_be_cancelled)) continue;
        if (!read_listed(i, state, &call) || !begins_end()) continue;
        report_call(current_call() ? current_call() : &call, "has ended a thread of the program with ",
                    "pthread_cancel()");
        atomic_store(&ending_stage, is_line_written);
        end_process(atomic_load(&code));
    }
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

bool cpluginwatch_enable_cancel(void) {
    if (!must_return()) return false;
    inside.is_cancellable = true;
    if (set_cancel(note_cancellable) || inside.is_cancelled) cpluginwatch_thread_exit("pthread_cancel()");
    return true;
}

void cpluginwatch_disable_cancel(void) {
    if (!inside.is_cancellable) return;
    inside.is_cancellable = false;
    set_cancel(note_uncancellable);
}

/* The function of a thread that a plugin has started, and where it has. */
struct thread_start {
    void *(*run)(void *);
    void *argument;
    /* Whether the plugin is known: not if a library shared with the program has started the thread. */
    bool is_plugins;
    struct call call;
};

/* Enters the calling thread. Returns its place; NULL if there is no room. */
static cpluginwatch_thread *enter_thread(const struct call *call) {
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
    return place;
}

static void leave_thread(void *place) {
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

static void *run_thread(void *argument) {
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    cpluginwatch_thread *place = start.is_plugins ? enter_thread(&start.call) : NULL;
    make_ready();
    unblock();
    if (start.is_plugins) {
        inside.calls[0].index = listed_limit;
        inside.calls[0].own = start.call;
        inside.depth = 1;
    }
    void *result;
    /* Also when the thread ends by pthread_exit(). */
    pthread_cleanup_push(leave_thread, place);
    result = start.run(start.argument);
    pthread_cleanup_pop(1);
    end_copy();
    // The depth stays: destructors of the thread's values may still run the plugin's code.
    return result;
}

int cpluginwatch_create_thread(cpluginwatch_thread_creator create, pthread_t *thread,
                               const pthread_attr_t *attributes, void *(*run)(void *), void *argument,
                               const void *caller) {
    const struct call *call = current_call();
    if (!cpluginwatch_is_on() || !call) return create(thread, attributes, run, argument);
    struct thread_start *start = calloc(1, sizeof *start);
    if (!start) return EAGAIN;
    start->run = run;
    start->argument = argument;
    int library = library_of(caller);
    start->is_plugins = library == library_count || libraries[library].starts_for_callers;
    start->call = *call;
    start->call.subject[0] = 0;
    start->call.is_thread = true;
    int status = create(thread, attributes, run_thread, start);
    if (status != 0) free(start);
    return status;
}

void cpluginwatch_keep(int descriptor) {
    if (descriptor > STDERR_FILENO && descriptor < kept_limit) atomic_store(&kept[descriptor], file_of(descriptor));
}

void cpluginwatch_report(int exit_code, int descriptor, int reader) {
    output_file = file_of(descriptor);
    input_file = file_of(reader);
    atomic_store(&output, descriptor);
    atomic_store(&input, reader);
    atomic_store(&code, exit_code);
    atomic_store(&is_exit_expected, false);
    atomic_store(&exits, 0);
    if (atomic_load(&is_on)) return;
    cpluginwatch_keep(descriptor);
    cpluginwatch_keep(reader);
    if (pthread_key_create(&stacks, free_stack) != 0) return;
    atomic_store(&process, getpid());
    dl_iterate_phdr(note_library, NULL);
    atomic_store(&is_on, true);
    mark_original();
    bind_functions();
    pthread_atfork(before_fork, on_fork, NULL);
    atexit(on_exit_call);
    at_quick_exit(cpluginwatch_quick_exit_called);
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

void cpluginwatch_guard(void) {
    if (!is_watched()) return;
    size_t index = index_of(SIGSYS);
    if (index == signal_count || !actions[index].is_reported) return;
    atomic_store(&is_guarding, true);
    guard_libraries(is_of_program);
}

void cpluginwatch_loaded(void) {
    if (atomic_load(&is_guarding)) guard_libraries(is_of_program);
}

int cpluginwatch_filter_count(void) { return guard_filter_count(); }

void cpluginwatch_expect_exit(void) {
    atomic_store(&is_exit_expected, true);
    // Destructors run on this thread, which may not have called a plugin.
    if (is_watched() && !inside.is_ready) make_ready();
}

/* What the thread of cpluginwatch_end_after() does. */
struct ending {
    long milliseconds;
    int exit_code;
    char line[line_size];
};

static void *end_late(void *argument) {
    struct ending *ending = argument;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    struct timespec rest = {ending->milliseconds / 1000, ending->milliseconds % 1000 * 1000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) continue;
    write_line(ending->line);
    end_process(ending->exit_code);
    return NULL;
}

bool cpluginwatch_end_after(long milliseconds, int exit_code, const char *message) {
    struct ending *ending = calloc(1, sizeof *ending);
    if (!ending) return false;
    *ending = (struct ending){.milliseconds = milliseconds, .exit_code = exit_code};
    append(ending->line, message);
    pthread_attr_t attributes;
    pthread_t thread;
    bool is_started = pthread_attr_init(&attributes) == 0;
    if (is_started) {
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        is_started = pthread_create(&thread, &attributes, end_late, ending) == 0;
        pthread_attr_destroy(&attributes);
    }
    if (!is_started) free(ending);
    return is_started;
}

/* The bullet, in UTF-8, of which the mark of hidden secrets consists; it becomes "*". */
static const char bullet[] = "\xE2\x80\xA2";

/* Copies and cuts a text; bytes other than printable ASCII become "?". */
static void copy(char *target, size_t size, const char *text) {
    size_t length = 0;
    while (*text != 0 && length < size - 1) {
        bool is_bullet = strncmp(text, bullet, sizeof bullet - 1) == 0;
        target[length++] = is_bullet ? '*' : *text < ' ' || *text > '~' ? '?' : *text;
        text += is_bullet ? sizeof bullet - 1 : 1;
    }
    target[length] = 0;
}

void cpluginwatch_note(const char *plugin, uint32_t library) {
    pthread_mutex_lock(&noted_lock);
    int count = atomic_load(&noted_count), i = 0;
    char id[sizeof noted->plugin];
    copy(id, sizeof id, plugin);
    while (i < count && i < noted_limit && (noted[i].library != library || strcmp(noted[i].plugin, id) != 0)) i++;
    if (i == count && count < noted_limit) {
        memcpy(noted[i].plugin, id, sizeof id);
        noted[i].library = library;
        atomic_store(&noted_count, count + 1);
    } else if (i == noted_limit) {
        atomic_store(&noted_count, noted_limit + 1);
    }
    pthread_mutex_unlock(&noted_lock);
}

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

void cpluginwatch_enter(const char *plugin, const char *hook, const char *subject, uint32_t library) {
    if (!inside.is_ready) make_ready();
    unblock();
    // A plugin that cancels its own thread would end one of the program's.
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    if (inside.depth < depth_limit) {
        int index = take_entry();
        struct call *call = index < listed_limit ? &listed[index] : &inside.calls[inside.depth].own;
        copy(call->plugin, sizeof call->plugin, plugin);
        copy(call->hook, sizeof call->hook, hook);
        copy(call->subject, sizeof call->subject, subject);
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
    inside.is_copy_reported = false;
}

const char *cpluginwatch_subject(void) {
    const struct call *call = current_call();
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

void cpluginwatch_leave(void) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    end_copy();
    inside.depth--;
    if (inside.depth >= depth_limit) return;
    int index = inside.calls[inside.depth].index;
    if (index < listed_limit) atomic_store_explicit(&callers[index].number, 0, memory_order_relaxed);
    if (!inside.calls[inside.depth].is_kept) free_entry(index);
}

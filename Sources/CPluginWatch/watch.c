#define _GNU_SOURCE
#include "CPluginWatch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { depth_limit = 4, line_size = 512, stack_size = 65536 };

/* The plugin calls that a thread is in, the innermost last; those beyond depth_limit are only counted. */
struct inside {
    int depth;
    /* Whether make_ready() was called for the thread. */
    bool is_ready;
    /* Whether this process is a child that a plugin has made by fork(). */
    bool is_copy;
    struct {
        char plugin[96], hook[32], subject[256];
    } calls[depth_limit];
};

static _Thread_local struct inside inside;
static atomic_bool is_on;
static atomic_bool is_exit_expected;
static atomic_int code;
static atomic_int process;
static atomic_int output = STDERR_FILENO;
static pthread_key_t stacks;

static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
    {SIGFPE, "SIGFPE"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
};

/* The following functions may run in a signal handler: no allocation, no stdio, no locks. */

static void append(char *line, const char *text) {
    size_t end = strlen(line);
    while (*text && end < line_size - 2) line[end++] = *text++;
    line[end] = 0;
}

/* Writes one line: the plugin, what happened, and the hook. */
static void report(const char *what, const char *name) {
    char line[line_size] = "outlet: ";
    int depth = inside.depth < depth_limit ? inside.depth : depth_limit;
    if (depth > 0) {
        append(line, "plugin ");
        append(line, inside.calls[depth - 1].plugin);
        append(line, ": ");
    }
    append(line, what);
    append(line, name);
    if (depth > 0) {
        append(line, " in ");
        append(line, inside.calls[depth - 1].hook);
        if (inside.calls[depth - 1].subject[0]) {
            append(line, " of ");
            append(line, inside.calls[depth - 1].subject);
        }
    } else {
        append(line, " outside of every hook: in a thread of a plugin's, or in the program");
    }
    line[strlen(line) + 1] = 0;
    line[strlen(line)] = '\n';
    ssize_t written = write(atomic_load(&output), line, strlen(line));
    (void)written;
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    const char *name = "a signal";
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (signals[i].number == number) name = signals[i].name;
    }
    report("has crashed with ", name);
    /* The default action is set again (SA_RESETHAND). A fault repeats when this returns; a signal that was
     * sent (si_code <= 0), and SIGTRAP, must be raised again. */
    if (info->si_code <= 0 || number == SIGTRAP) raise(number);
}

/* Calls exit_group directly, so that no exit handlers run. */
static void end_process(int exit_code) { syscall(SYS_exit_group, exit_code); }

static void on_exit_call(void) {
    if (atomic_load(&is_exit_expected)) return;
    report("has called exit()", "");
    end_process(atomic_load(&code));
}

void cpluginwatch_exit(int exit_code) {
    if (cpluginwatch_is_on() && inside.depth > 0 && getpid() == atomic_load(&process)) {
        report("has called _exit()", "");
        end_process(atomic_load(&code));
    }
    end_process(exit_code);
}

/* Runs in the parent after fork(). The child ends in cpluginwatch_leave(). */
static void on_fork(void) {
    if (inside.depth > 0) report("has copied the process with fork()", "");
}

static void on_fork_in_copy(void) { inside.is_copy = inside.depth > 0; }

/* Prepares the thread for the signal handler: an alternate stack, because the crash may be a stack
 * overflow, and unblocked signals, because the event loop's threads block all. */
static void make_ready(void) {
    inside.is_ready = true;
    sigset_t faults;
    sigemptyset(&faults);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(&faults, signals[i].number);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
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

void cpluginwatch_report(int exit_code, int descriptor) {
    atomic_store(&output, descriptor);
    atomic_store(&code, exit_code);
    atomic_store(&is_exit_expected, false);
    if (atomic_load(&is_on)) return;
    if (pthread_key_create(&stacks, free_stack) != 0) return;
    atomic_store(&process, getpid());
    atomic_store(&is_on, true);
    pthread_atfork(NULL, on_fork, on_fork_in_copy);
    atexit(on_exit_call);
    at_quick_exit(on_exit_call);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action, former;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_ONSTACK;
        if (sigaction(signals[i].number, NULL, &former) != 0) continue;
        if (!(former.sa_flags & SA_SIGINFO) && former.sa_handler == SIG_DFL) {
            sigaction(signals[i].number, &action, NULL);
        }
    }
}

void cpluginwatch_expect_exit(void) { atomic_store(&is_exit_expected, true); }

static void copy(char *target, size_t size, const char *text) {
    size_t length = strnlen(text, size - 1);
    for (size_t i = 0; i < length; i++) {
        target[i] = text[i] < ' ' || text[i] > '~' ? '?' : text[i];
    }
    target[length] = 0;
}

void cpluginwatch_enter(const char *plugin, const char *hook, const char *subject) {
    if (!inside.is_ready) make_ready();
    if (inside.depth < depth_limit) {
        copy(inside.calls[inside.depth].plugin, sizeof inside.calls->plugin, plugin);
        copy(inside.calls[inside.depth].hook, sizeof inside.calls->hook, hook);
        copy(inside.calls[inside.depth].subject, sizeof inside.calls->subject, subject);
    }
    inside.depth++;
}

void cpluginwatch_leave(void) {
    inside.depth--;
    if (inside.is_copy) end_process(atomic_load(&code));
}

#define _GNU_SOURCE
#include "ends.h"
#include "CPluginWatch.h"
#include "calls.h"
#include "libraries.h"
#include "process.h"
#include "report.h"
#include "text.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* How often exit() was called since cpluginwatch_expect_exit(); the code and the thread of the first call. */
static atomic_int exits, exit_code_asked, exit_thread;

/* A byte that is 1, and 0 in copies of the process, however they were made (MADV_WIPEONFORK); NULL if the kernel
 * cannot do that. */
static const volatile char *original;

/* Whether a copy of the process that the thread makes is reported by the parent. */
static _Thread_local bool is_copy_reported;

void watch_end_process(int exit_code) { guard_end(exit_code); }

void watch_end(const char *what, const char *name) {
    watch_report_end(what, name);
    watch_end_process(watch_exit_code());
}

static void end_because(const char *call) { watch_end("has called ", call); }

/* Whether the C library ends the process because the program has called exit(). Functions that end the process
 * within the library, such as errx(), call none of those that the program replaces; with the same exit code they
 * change nothing. */
static bool is_end_of_exit(const struct guard_call *call) {
    if (!watch_expects_exit() || !watch_is_of_program(call->address)) return false;
    if (atomic_load(&exits) == 0) return true;
    return atomic_load(&exit_thread) == gettid() && ((atomic_load(&exit_code_asked) ^ call->exit_code) & 0xFF) == 0;
}

void watch_end_asked(const struct guard_call *call) {
    if (watch_applies() && !is_end_of_exit(call)) {
        if (call->is_of_linker) watch_end("has made the dynamic linker end the process", "");
        end_because("exit_group()");
    }
    watch_end_process(call->exit_code);
}

static void on_exit_call(void) {
    if (watch_applies() && !watch_expects_exit()) end_because("exit()");
}

void cpluginwatch_quick_exit_called(void) {
    if (watch_applies()) end_because("quick_exit()");
}

void cpluginwatch_exit_called(int exit_code) {
    if (!watch_applies()) return;
    // The program itself calls exit() once. A further call is made by an exit handler or destructor.
    if (!watch_expects_exit() || atomic_load(&exits) != 0) end_because("exit()");
    atomic_store(&exit_code_asked, exit_code);
    atomic_store(&exit_thread, gettid());
    if (atomic_fetch_add(&exits, 1) != 0) end_because("exit()");
}

void watch_forget_exits(void) { atomic_store(&exits, 0); }

void cpluginwatch_exit(int exit_code) {
    if (watch_applies()) end_because("_exit()");
    watch_end_process(exit_code);
}

bool cpluginwatch_daemon(void) {
    if (watch_applies()) end_because("daemon()");
    return false;
}

void cpluginwatch_exec(void) {
    if (watch_may_be_in_plugin()) end_because("exec()");
}

void cpluginwatch_exit_group(const void *caller) {
    if (watch_applies() && !watch_is_of_program(caller)) end_because("exit_group()");
}

void cpluginwatch_end(int exit_code) {
    for (;;) watch_end_process(exit_code);
}

/* Run before and in the parent after fork(). The child ends in watch_end_copy(). The program itself starts processes by
 * posix_spawn(), which does not call these. */
static void before_fork(void) { is_copy_reported = true; }

static void on_fork(void) {
    if (watch_applies()) watch_report_copy("has copied the process with ", "fork()");
}

void cpluginwatch_copies(const char *call) {
    if (!watch_applies() || watch_depth() == 0) return;
    is_copy_reported = true;
    watch_report_copy("has copied the process with ", call);
}

void watch_expect_copy(void) { is_copy_reported = false; }

void watch_end_copy(void) {
    if (!original || *original) return;
    if (!is_copy_reported) watch_report_copy("has copied the process with a system call", "");
    watch_end_process(watch_exit_code());
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

void watch_install_ends(void) {
    mark_original();
    pthread_atfork(before_fork, on_fork, NULL);
    atexit(on_exit_call);
    at_quick_exit(cpluginwatch_quick_exit_called);
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
    watch_report_line(ending->line);
    watch_end_process(ending->exit_code);
    return NULL;
}

bool cpluginwatch_end_after(long milliseconds, int exit_code, const char *message) {
    struct ending *ending = calloc(1, sizeof *ending);
    if (!ending) return false;
    *ending = (struct ending){.milliseconds = milliseconds, .exit_code = exit_code};
    watch_append(ending->line, message);
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

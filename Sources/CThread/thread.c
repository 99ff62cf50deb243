#define _GNU_SOURCE
#include "cthread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void cthread_prepare(const char *name) {
    sigset_t sent;
    sigfillset(&sent);
    // The kernel ends the process at once, without its crash report, if a thread causes a signal
    // that it blocks.
    static const int caused[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF};
    for (size_t i = 0; i < sizeof caused / sizeof *caused; i++) sigdelset(&sent, caused[i]);
    pthread_sigmask(SIG_BLOCK, &sent, NULL);
    pthread_setname_np(pthread_self(), name);
    // The thread serves all callers, but inherits the priority of the thread that started it, which
    // may be lower than the program's (libdispatch has such threads). Without the privilege to
    // raise the priority it stays as it is.
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, (id_t)getpid()));
}

/* The default size of a stack when the program started, which code of a plugin can change later; 0 if unknown. */
static size_t stack_size;

__attribute__((constructor)) static void note_stack_size(void) {
    pthread_attr_t attributes;
    if (pthread_getattr_default_np(&attributes) != 0) return;
    pthread_attr_getstacksize(&attributes, &stack_size);
    pthread_attr_destroy(&attributes);
}

int cthread_start(void *(*body)(void *), void *argument) {
    pthread_attr_t attributes;
    pthread_t thread;
    int code = pthread_attr_init(&attributes);
    if (code != 0) return code;
    if (stack_size > 0) pthread_attr_setstacksize(&attributes, stack_size);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    code = pthread_create(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return code;
}

static void end_process(void *unused) {
    (void)unused;
    static const char line[] = "outlet: a thread was ended by pthread_exit() or pthread_cancel(), by code of a plugin\n";
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written;
    abort();
}

void cthread_run(void (*body)(void *), void *argument) {
    pthread_cleanup_push(end_process, NULL);
    body(argument);
    pthread_cleanup_pop(0);
}

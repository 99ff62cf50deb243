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

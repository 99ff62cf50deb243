/*
 * signals.h - Whether a signal is for this process.
 */
#ifndef CPROCESSEXIT_SIGNALS_H
#define CPROCESSEXIT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "CPluginWatch.h"

/* Whether a process id of kill() means this process, possibly among others. */
static inline bool is_this(pid_t process) {
    return process == getpid() || process == 0 || process == -1 || process == -getpgrp();
}

/* Whether a descriptor of a process (pidfd_open()) is that of this process. */
static inline bool is_own(int descriptor) {
    char path[32], line[64];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    int process = 0;
    while (!process && fgets(line, sizeof line, file))
        if (sscanf(line, "Pid: %d", &process) != 1) process = 0;
    fclose(file);
    return process == getpid();
}

/* Looks at an event that a timer or a queue is made for. */
static inline void look_at_event(const struct sigevent *event, const void *caller) {
    if (!event || event->sigev_notify == SIGEV_NONE || event->sigev_notify == SIGEV_THREAD) return;
    cpluginwatch_signal_asked(event->sigev_signo, caller);
}

#endif

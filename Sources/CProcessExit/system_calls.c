#define _GNU_SOURCE
#include "CProcessExit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CPluginWatch.h"
#include "descriptors.h"
#include "next.h"
#include "signals.h"

/* Whether the first word of the arguments of clone3() asks for a thread. */
static bool is_thread(const uint64_t *arguments) { return arguments && (*arguments & CLONE_THREAD); }

/* The action of a signal in the form of the kernel. */
struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* Sets the action of a signal as cpluginwatch_set_action() does. */
static bool set_action(int number, const struct kernel_action *action, struct kernel_action *former,
                       const void *caller) {
    struct sigaction wanted = {0}, before;
    if (action) {
        wanted.sa_sigaction = action->handler;
        wanted.sa_flags = (int)action->flags;
    }
    if (!cpluginwatch_set_action(number, action ? &wanted : NULL, &before, caller)) return false;
    if (former) {
        memset(former, 0, sizeof *former);
        former->handler = before.sa_sigaction;
        former->flags = (unsigned)before.sa_flags;
    }
    return true;
}

/* The wrapper of system calls: those that the other functions here make, too, are looked at. */
long syscall(long call, ...) {
    long list[6];
    va_list rest;
    va_start(rest, call);
    for (size_t i = 0; i < 6; i++) list[i] = va_arg(rest, long);
    va_end(rest);
    const void *caller = __builtin_return_address(0);
    switch (call) {
    case SYS_exit_group: cpluginwatch_exit_group(caller); break;
    case SYS_exit: cpluginwatch_thread_exit("the system call exit()"); break;
    case SYS_sigaltstack:
        if (list[0] && cpluginwatch_keeps_stack(caller)) list[0] = 0;
        break;
    case SYS_execve:
    case SYS_execveat: cpluginwatch_exec(); break;
    case SYS_kill:
        if (is_this((pid_t)list[0])) cpluginwatch_signal_sent((int)list[1], caller);
        break;
    case SYS_tkill: cpluginwatch_signal_sent((int)list[1], caller); break;
    case SYS_tgkill:
        if ((pid_t)list[0] == getpid()) cpluginwatch_signal_sent((int)list[2], caller);
        break;
    case SYS_rt_sigqueueinfo:
        if (is_this((pid_t)list[0])) cpluginwatch_signal_sent((int)list[1], caller);
        break;
    case SYS_rt_tgsigqueueinfo:
        if ((pid_t)list[0] == getpid()) cpluginwatch_signal_sent((int)list[2], caller);
        break;
    case SYS_pidfd_send_signal:
        if (is_own((int)list[0])) cpluginwatch_signal_sent((int)list[1], caller);
        break;
    case SYS_timer_create:
    case SYS_mq_notify: look_at_event((const struct sigevent *)list[1], caller); break;
    case SYS_fcntl:
        if (list[1] == F_SETSIG) cpluginwatch_signal_asked((int)list[2], caller);
        break;
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork: cpluginwatch_copies("fork()"); break;
#endif
    case SYS_clone:
        if (!(list[0] & CLONE_THREAD)) cpluginwatch_copies("clone()");
        break;
    case SYS_clone3:
        if (!is_thread((const uint64_t *)list[0])) cpluginwatch_copies("clone3()");
        break;
    case SYS_close:
        if (refuses(list[0], caller)) return -1;
        break;
#ifdef SYS_dup2
    case SYS_dup2:
        if (list[0] != list[1] && refuses(list[1], caller)) return -1;
        break;
#endif
    case SYS_dup3:
        if (refuses(list[1], caller)) return -1;
        break;
    case SYS_close_range:
        if (refuses_range((unsigned)list[0], (unsigned)list[1], (int)list[2], caller)) return -1;
        break;
    case SYS_rt_sigaction:
        if (set_action((int)list[0], (const struct kernel_action *)list[1], (struct kernel_action *)list[2], caller)) {
            return 0;
        }
        break;
    case SYS_ptrace:
        if (list[0] == PTRACE_TRACEME && cpluginwatch_refuses_trace(caller)) return -1;
        break;
    case SYS_rt_sigprocmask: {
        __typeof__(&syscall) next = NEXT_KEPT(syscall);
        long status = next ? next(call, list[0], list[1], list[2], list[3]) : -1;
        cpluginwatch_mask_set(caller);
        return status;
    }
    }
    CALL_NEXT(syscall, (call, list[0], list[1], list[2], list[3], list[4], list[5]));
}

long ptrace(enum __ptrace_request request, ...) {
    va_list rest;
    va_start(rest, request);
    pid_t process = va_arg(rest, pid_t);
    void *address = va_arg(rest, void *);
    void *data = va_arg(rest, void *);
    va_end(rest);
    if (request == PTRACE_TRACEME && cpluginwatch_refuses_trace(__builtin_return_address(0))) return -1;
    CALL_NEXT(ptrace, (request, process, address, data));
}

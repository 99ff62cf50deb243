/* Changes how the process or a thread deals with signals, or lets the kernel send one; its configuration says where
 * ("hook": create or prepare) and how ("how"). In a constructor it does the latter, as the environment variable
 * FAULTY_SIGNALS says. */
#define _GNU_SOURCE
#include "faulty.h"

#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Some are deprecated, or no longer declared. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
int __sigaction(int number, const struct sigaction *action, struct sigaction *former);
sighandler_t bsd_signal(int number, sighandler_t handler);

struct changing {
    outlet_instance base;
    char hook[16];
    char how[16];
};

/* Writes where nothing is mapped. */
static void fault(void) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

/* Ignores or blocks SIGSEGV, among others. */
static void turn_off_reports(const char *how) {
    if (strcmp(how, "sighold") == 0) sighold(SIGSEGV);
    if (strcmp(how, "sigblock") == 0) sigblock(-1);
    if (strcmp(how, "sigsetmask") == 0) sigsetmask(-1);
    if (strcmp(how, "sigset") == 0) sigset(SIGSEGV, SIG_HOLD);
    if (strcmp(how, "sigset_ignore") == 0) sigset(SIGSEGV, SIG_IGN);
    if (strcmp(how, "sigignore") == 0) sigignore(SIGSEGV);
    if (strcmp(how, "bsd_signal") == 0) bsd_signal(SIGSEGV, SIG_IGN);
    if (strcmp(how, "__sigaction") == 0) {
        struct sigaction action = {.sa_handler = SIG_IGN};
        __sigaction(SIGSEGV, &action, NULL);
    }
}

static sigjmp_buf place;
static ucontext_t context, former;
static volatile sig_atomic_t is_back;

/* Jumps to where SIGSEGV is blocked. */
static void jump(const char *how) {
    is_back = 0;
    if (strcmp(how, "siglongjmp") == 0 || strcmp(how, "longjmp") == 0) {
        if (sigsetjmp(place, 1) != 0) return;
        sigfillset((sigset_t *)&place->__saved_mask);
        if (strcmp(how, "longjmp") == 0) longjmp(place, 1);
        siglongjmp(place, 1);
    }
    if (strcmp(how, "setcontext") == 0 || strcmp(how, "swapcontext") == 0) {
        getcontext(&context);
        if (is_back) return;
        is_back = 1;
        sigfillset(&context.uc_sigmask);
        if (strcmp(how, "setcontext") == 0) setcontext(&context);
        swapcontext(&former, &context);
    }
}

static void fault_in_handler(int number) {
    (void)number;
    fault();
}

/* Blocks SIGSEGV for as long as a handler runs, or from its end on. */
static void block_all(int number, siginfo_t *facts, void *interrupted) {
    (void)number, (void)facts;
    sigfillset(&((ucontext_t *)interrupted)->uc_sigmask);
}

static void handle(const char *how) {
    if (strcmp(how, "handler_mask") == 0) {
        struct sigaction action = {.sa_handler = fault_in_handler};
        sigfillset(&action.sa_mask);
        sigaction(SIGWINCH, &action, NULL);
        raise(SIGWINCH);
    }
    if (strncmp(how, "wait_", 5) == 0) {
        struct sigaction action = {.sa_handler = fault_in_handler};
        sigset_t all;
        sigfillset(&all);
        sigaction(SIGWINCH, &action, NULL);
        sigprocmask(SIG_BLOCK, &all, NULL);
        raise(SIGWINCH);
        sigdelset(&all, SIGWINCH);
        if (strcmp(how, "wait_suspend") == 0) sigsuspend(&all);
        if (strcmp(how, "wait_ppoll") == 0) ppoll(NULL, 0, NULL, &all);
        if (strcmp(how, "wait_pselect") == 0) pselect(0, NULL, NULL, NULL, NULL, &all);
        if (strcmp(how, "wait_epoll") == 0) {
            struct epoll_event event;
            epoll_pwait(epoll_create1(EPOLL_CLOEXEC), &event, 1, -1, &all);
        }
    }
    if (strcmp(how, "handler_end") == 0) {
        struct sigaction action = {.sa_sigaction = block_all, .sa_flags = SA_SIGINFO};
        sigaction(SIGTRAP, &action, NULL);
        raise(SIGTRAP);
    }
}

/* Lets a signal that the program ignores, or handles, end the process. */
static int is_reset(const char *how) {
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"SIGPIPE", SIGPIPE}, {"SIGXFSZ", SIGXFSZ}, {"SIGTERM", SIGTERM}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (strcmp(how, signals[i].name) != 0) continue;
        signal(signals[i].number, SIG_DFL);
        return 1;
    }
    return 0;
}

/* Lets the kernel send a signal, which the second word names, by a timer, a descriptor, a message queue or an asynchronous
 * read; or waits for one of the user's. */
static void wait_for_signal(const char *how) {
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"HUP", SIGHUP}, {"INT", SIGINT}, {"TERM", SIGTERM}, {"QUIT", SIGQUIT}, {"KILL", SIGKILL}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (strstr(how, signals[i].name) != NULL) event.sigev_signo = signals[i].number;
    }
    if (strncmp(how, "timer ", 6) == 0) {
        static const struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
        timer_t timer;
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &soon, NULL);
    } else if (strncmp(how, "file ", 5) == 0) {
        int ends[2];
        if (pipe(ends) != 0) return;
        fcntl(ends[0], F_SETOWN, getpid());
        fcntl(ends[0], F_SETSIG, event.sigev_signo);
        fcntl(ends[0], F_SETFL, O_ASYNC);
        if (write(ends[1], "", 1) != 1) return;
    } else if (strncmp(how, "queue ", 6) == 0) {
        char name[32];
        snprintf(name, sizeof name, "/outlet-faulty-%d", (int)getpid());
        mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
        mq_unlink(name);
        if (mq_notify(queue, &event) != 0 || mq_send(queue, "", 1, 0) != 0) return;
    } else if (strncmp(how, "transfer ", 9) == 0) {
        static char byte;
        static struct aiocb block = {.aio_buf = &byte, .aio_nbytes = 1};
        block.aio_sigevent = event;
        block.aio_fildes = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        aio_read(&block);
    } else if (strncmp(how, "call ", 5) == 0) {
        /* A system call in machine code would leave no name; this one is found behind the program's function. */
        int (*next)(pid_t, int) = (int (*)(pid_t, int))dlsym(RTLD_NEXT, "kill");
        if (next != NULL) next(getpid(), event.sigev_signo);
    } else if (strcmp(how, "wait") == 0) {
        /* Tests wait for this line. */
        if (write(STDERR_FILENO, "waiting\n", 8) != 8) return;
    } else {
        return;
    }
    for (;;) pause();
}

static volatile sig_atomic_t first_count, second_count, is_inside, is_nested;

static void take_second(int number) {
    (void)number;
    ++second_count;
}

/* Sends itself a further signal: one that interrupts this handler, and one that its mask holds back. */
static void take_first(int number) {
    is_nested |= is_inside;
    is_inside = 1;
    if (++first_count == 1) {
        raise(SIGALRM);
        raise(number);
        raise(SIGUSR2);
        if (second_count != 1 || first_count != 1) is_nested = 1;
    }
    is_inside = 0;
}

/* Handles signals that arrive in a handler as POSIX says. */
static outlet_status nest(void) {
    struct sigaction first = {.sa_handler = take_first}, second = {.sa_handler = take_second}, former[3];
    sigset_t unblocked, mask;
    sigemptyset(&unblocked);
    sigaddset(&unblocked, SIGUSR1);
    sigaddset(&unblocked, SIGUSR2);
    sigaddset(&unblocked, SIGALRM);
    sigaddset(&first.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &first, &former[0]);
    sigaction(SIGALRM, &second, &former[1]);
    sigaction(SIGUSR2, &second, &former[2]);
    pthread_sigmask(SIG_UNBLOCK, &unblocked, &mask);
    raise(SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGUSR1, &former[0], NULL);
    sigaction(SIGALRM, &former[1], NULL);
    sigaction(SIGUSR2, &former[2], NULL);
    return is_nested || first_count != 2 || second_count != 2 ? OUTLET_E_FAILED : OUTLET_OK;
}

static outlet_status change(const char *how) {
    if (strcmp(how, "nested") == 0) return nest();
    wait_for_signal(how);
    if (is_reset(how)) return OUTLET_OK;
    turn_off_reports(how);
    jump(how);
    handle(how);
    fault();
    return OUTLET_OK;
}

__attribute__((constructor)) static void construct(void) {
    const char *how = getenv("FAULTY_SIGNALS");
    if (how != NULL) change(how);
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host, outlet_call call,
                            const outlet_config *config, outlet_instance **out) {
    struct changing *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "hook", self->hook, sizeof self->hook);
    setting(host, call, "how", self->how, sizeof self->how);
    *out = &self->base;
    return strcmp(self->hook, "create") == 0 ? change(self->how) : OUTLET_OK;
}

PREPARE {
    struct changing *changing = (struct changing *)self;
    (void)call, (void)request, (void)completion;
    return strcmp(changing->hook, "prepare") == 0 ? change(changing->how) : OUTLET_OK;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.signals"), .version = OUTLET_TEXT("1.0.0"),
    .create = create, .hooks = hooks, .destroy = unmake};
OUTLET_MODULE(descriptor)

/* Its will_send, and its export "change", changes state of the process or of the thread; its configuration says which
 * ("what"). With the setting "in", only its reconfigure or its cancel does; a thread then settles its adapt. The checker
 * must report the hook and the change. */
#define _GNU_SOURCE
#include "faulty.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

struct changing {
    outlet_instance base;
    char what[16], in[16];
};

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct changing *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "what", self->what, sizeof self->what);
    setting(host, call, "in", self->in, sizeof self->in);
    *out = &self->base;
    return OUTLET_OK;
}

static void change(outlet_instance *self) {
    const char *what = ((struct changing *)self)->what;
    if (strcmp(what, "umask") == 0) umask(umask(0) ^ 020);
    if (strcmp(what, "directory") == 0 && chdir("/proc") != 0) abort();
    /* Fails the second time: there is none below it. */
    if (strcmp(what, "root") == 0 && chroot("/tmp") != 0 && errno != ENOENT) abort();
    if (strcmp(what, "locale") == 0) setlocale(LC_ALL, "C.UTF-8");
    if (strcmp(what, "environment") == 0) setenv("FAULTY", "1", 1);
    if (strcmp(what, "clearenv") == 0) clearenv();
    if (strcmp(what, "signal") == 0) signal(SIGUSR1, SIG_IGN);
    if (strcmp(what, "rt signal") == 0) signal(SIGRTMIN + 5, SIG_IGN);
    if (strcmp(what, "blocking") == 0) fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) ^ O_NONBLOCK);
    if (strcmp(what, "thread name") == 0) prctl(PR_SET_NAME, "faulty", 0L, 0L, 0L);
    if (strcmp(what, "alarm") == 0) alarm(600);
    if (strcmp(what, "timer") == 0) {
        struct itimerval later = {.it_value.tv_sec = 600};
        setitimer(ITIMER_PROF, &later, NULL);
    }
    if (strcmp(what, "thread locale") == 0) uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (strcmp(what, "cancel type") == 0) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    if (strcmp(what, "cancel state") == 0) {
        int state;
        /* It may be disabled on threads of the host. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        if (state == PTHREAD_CANCEL_DISABLE) pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    }
    if (strcmp(what, "filter") == 0) {
        struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        struct sock_fprog filter = {.len = 1, .filter = &allow};
        prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0L, 0L);
    }
    if (strcmp(what, "priority") == 0) {
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1);
    }
    if (strcmp(what, "session") == 0) setsid();
    if (strcmp(what, "group") == 0) setpgid(0, 0);
    if (strcmp(what, "groups") == 0) {
        gid_t group = 7;
        setgroups(1, &group);
    }
    if (strcmp(what, "default stack") == 0) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 16384);
        pthread_setattr_default_np(&attributes);
    }
    if (strcmp(what, "merging") == 0) prctl(67 /* PR_SET_MEMORY_MERGE */, 1L, 0L, 0L, 0L);
    if (strcmp(what, "dumpable") == 0) prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
    if (strcmp(what, "rounding") == 0) fesetround(FE_UPWARD);
    if (strcmp(what, "mask") == 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    if (strcmp(what, "limit") == 0 || strcmp(what, "signal limit") == 0) {
        struct rlimit limit;
        int which = strcmp(what, "limit") == 0 ? RLIMIT_NOFILE : RLIMIT_SIGPENDING;
        if (getrlimit(which, &limit) != 0) abort();
        limit.rlim_cur -= 1;
        setrlimit(which, &limit);
    }
    if (strcmp(what, "stream") == 0 && dup2(STDERR_FILENO, STDIN_FILENO) < 0) abort();
}

static void change_now(outlet_instance *self) {
    if (((struct changing *)self)->in[0] == 0) change(self);
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)call, (void)request;
    change_now(self);
}

static outlet_status reconfigure(outlet_instance *self, outlet_call call,
                                 const outlet_config *config) {
    (void)call, (void)config;
    if (strcmp(((struct changing *)self)->in, "reconfigure") == 0) change(self);
    return OUTLET_OK;
}

struct answer {
    const outlet_host *host;
    outlet_completion completion;
};

static void *settle(void *data) {
    const struct answer answer = *(struct answer *)data;
    free(data);
    usleep(2000);
    answer.host->done(answer.host, answer.completion, OUTLET_OK, outlet_text(""), outlet_text(""));
    return NULL;
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    pthread_t thread;
    (void)call, (void)request;
    if (strcmp(((struct changing *)self)->in, "cancel") != 0) return OUTLET_OK;
    struct answer *answer = malloc(sizeof *answer);
    if (answer == NULL) return OUTLET_E_FAILED;
    *answer = (struct answer){self->host, completion};
    if (pthread_create(&thread, NULL, settle, answer) != 0) abort();
    pthread_detach(thread);
    return OUTLET_PENDING;
}

static void cancel(outlet_instance *self, outlet_completion completion) {
    (void)completion;
    if (strcmp(((struct changing *)self)->in, "cancel") == 0) change(self);
}

static const outlet_export change_export = {
    .struct_size = sizeof(outlet_export), .name = OUTLET_TEXT("change"),
    .signature = OUTLET_TEXT("v()"), .function = (outlet_function)change_now};
static const outlet_export *const exports[] = {&change_export};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .adapt = adapt, .cancel = cancel,
                                   .will_send = will_send};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.changes-state"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .destroy = unmake,
    .reconfigure = reconfigure, .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)

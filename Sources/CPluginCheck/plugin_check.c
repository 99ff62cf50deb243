#define _GNU_SOURCE
#include "CPluginCheck.h"
#include "CPluginLoad.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

int cplugincheck_open_meter(cplugincheck_meter *meter) {
    meter->descriptors = opendir("/proc/self/fd");
    int result = meter->descriptors == NULL ? errno : 0;
    meter->threads = opendir("/proc/self/task");
    if (meter->threads == NULL) result = errno;
    meter->mappings = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (meter->mappings < 0) result = errno;
    meter->timers = open("/proc/self/timers", O_RDONLY | O_CLOEXEC);
    return result;
}

void cplugincheck_close_meter(cplugincheck_meter *meter) {
    if (meter->descriptors != NULL) closedir(meter->descriptors);
    if (meter->threads != NULL) closedir(meter->threads);
    if (meter->mappings >= 0) close(meter->mappings);
    if (meter->timers >= 0) close(meter->timers);
}

static uint64_t count_entries(void *directory) {
    uint64_t count = 0;
    struct dirent *entry;
    if (directory == NULL) return 0;
    rewinddir(directory);
    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') count += 1;
    }
    return count;
}

/* The alignment of the heaps of malloc() other than the first: HEAP_MAX_SIZE in glibc. */
#define HEAP_ALIGNMENT (UINT64_C(64) << 20)

/* The mappings of the process. */
struct mappings {
    /* The size of those with a permission, without heaps of malloc(), which keep freed memory mapped. */
    uint64_t size;
    /* The stacks among them: what can be written behind a page that cannot be accessed, and at most as much as is
     * usual, because the kernel joins mappings. */
    uint64_t stack_size, stack_count, usual_stack_size;
    /* Where such a page ends. */
    uint64_t guard_end;
};

/* Adds the mapping of a line, such as "7f0000-7f1000 r--p ...". */
static void add_mapping(const char *line, void *data) {
    struct mappings *mappings = data;
    uint64_t start = 0, end = 0;
    char permissions[5] = "---";
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &start, &end, permissions) != 3 || end < start) return;
    uint64_t guard_end = mappings->guard_end;
    mappings->guard_end = 0;
    if (strncmp(permissions, "---", 3) == 0) {
        if (end - start <= 65536) mappings->guard_end = end;
        return;
    }
    if (start % HEAP_ALIGNMENT == 0 || strstr(line, "[heap]") != NULL) return;
    mappings->size += end - start;
    if (start != guard_end || strncmp(permissions, "rw-p", 4) != 0) return;
    uint64_t size = end - start, usual = mappings->usual_stack_size;
    mappings->stack_size += size < usual ? size : usual;
    mappings->stack_count++;
}

/* Counts the first line of a timer, such as "ID: 0". */
static void count_timer(const char *line, void *data) { *(uint64_t *)data += strncmp(line, "ID:", 3) == 0; }

/* Calls a function for each line of a file, which is cut to 127 bytes. */
static void read_lines(int file, void (*take)(const char *line, void *data), void *data) {
    char piece[8192], line[128];
    size_t length = 0;
    ssize_t count;
    if (lseek(file, 0, SEEK_SET) != 0) return;
    while ((count = read(file, piece, sizeof piece)) > 0) {
        for (ssize_t i = 0; i < count; i++) {
            if (piece[i] != '\n') {
                if (length < sizeof line - 1) line[length++] = piece[i];
                continue;
            }
            line[length] = 0;
            take(line, data);
            length = 0;
        }
    }
}

cplugincheck_holdings cplugincheck_measure(const cplugincheck_meter *meter) {
    struct mallinfo2 info = mallinfo2();
    uint64_t large = (uint64_t)info.hblkhd; /* of chunks with a mapping of their own */
    uint64_t threads = count_entries(meter->threads), timers = 0;
    struct mappings mappings = {.usual_stack_size = cpluginload_stack_size()};
    read_lines(meter->mappings, add_mapping, &mappings);
    read_lines(meter->timers, count_timer, &timers);
    // Without the stacks of threads that run, which are counted as threads. The main thread's is another one.
    uint64_t used = threads > 0 ? threads - 1 : 0, stacks = mappings.stack_size;
    if (mappings.stack_count > used) stacks = stacks / mappings.stack_count * used;
    uint64_t rest = large + stacks;
    return (cplugincheck_holdings){.descriptors = count_entries(meter->descriptors),
                                   .threads = threads,
                                   .allocated = (uint64_t)info.uordblks + large,
                                   .mapped = mappings.size > rest ? mappings.size - rest : 0,
                                   .timers = timers};
}

cplugincheck_usage cplugincheck_thread_usage(void) {
    cplugincheck_usage usage = {0, 0};
    struct timespec time;
    struct rusage resources;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0) {
        usage.cpu_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    }
    if (getrusage(RUSAGE_THREAD, &resources) == 0) usage.waits = (uint64_t)resources.ru_nvcsw;
    return usage;
}

int cplugincheck_thread_count(void) {
    struct stat status;
    /* The links of a directory are its subdirectories, and two of its own. */
    return stat("/proc/self/task", &status) == 0 && status.st_nlink > 2 ? (int)status.st_nlink - 2 : 0;
}

uint64_t cplugincheck_cpu_of(pid_t thread) {
    /* The clock that pthread_getcpuclockid() returns; that function needs a thread that has not ended. */
    clockid_t clock = (clockid_t)(~(unsigned)thread << 3 | 6);
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

cplugincheck_thread cplugincheck_thread_state(void) {
    cplugincheck_thread state = {.locale = (uintptr_t)uselocale((locale_t)0)};
    sigset_t blocked;
    /* Both can be read only by setting them. */
    if (pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state.cancel_state) == 0) {
        if (pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &state.cancel_type) == 0) {
            pthread_setcanceltype(state.cancel_type, NULL);
        }
        pthread_setcancelstate(state.cancel_state, NULL);
    }
    prctl(PR_GET_NAME, state.name, 0L, 0L, 0L);
    sigemptyset(&blocked);
    if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0) {
        memcpy(&state.blocked_signals, &blocked, sizeof state.blocked_signals);
    }
#if defined(__x86_64__)
    /* Without the exception flags, which any computation may set. */
    state.floating_point = _mm_getcsr() & ~0x3fu;
#else
    state.floating_point = (uint32_t)fegetround();
#endif
    return state;
}

void cplugincheck_restore_thread(cplugincheck_thread state) {
    sigset_t blocked;
    sigemptyset(&blocked);
    memcpy(&blocked, &state.blocked_signals, sizeof state.blocked_signals);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    pthread_setcanceltype(state.cancel_type, NULL);
    pthread_setcancelstate(state.cancel_state, NULL);
    uselocale((locale_t)state.locale);
    prctl(PR_SET_NAME, state.name, 0L, 0L, 0L);
#if defined(__x86_64__)
    _mm_setcsr(state.floating_point);
#else
    fesetround((int)state.floating_point);
#endif
}

static void end_copy(void) { _exit(0); }

void cplugincheck_end_copies(void) { pthread_atfork(NULL, NULL, end_copy); }

static void *wait_for_end(void *context) {
    int descriptor = (int)(intptr_t)context;
    char byte;
    while (read(descriptor, &byte, 1) > 0) continue;
    kill(0, SIGKILL);
    return NULL;
}

int cplugincheck_end_with(int descriptor) {
    pthread_t thread;
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    int result = pthread_create(&thread, NULL, wait_for_end, (void *)(intptr_t)descriptor);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (result == 0) pthread_detach(thread);
    return result;
}

/* Reads the parent, the state and the name of a process from /proc/ID/stat, such as "7 (name) S 1 ...". */
static bool read_process(const char *id, cplugincheck_process *process, pid_t *parent, char *state) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", id);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t count = read(file, line, sizeof line - 1);
    close(file);
    if (count <= 0) return false;
    line[count] = 0;
    char *name = strchr(line, '('), *end = strrchr(line, ')');
    int number = 0;
    if (name == NULL || end == NULL || end < name || sscanf(end + 1, " %c %d", state, &number) != 2) return false;
    *end = 0;
    *parent = (pid_t)number;
    process->id = (pid_t)atoi(id);
    snprintf(process->name, sizeof process->name, "%s", name + 1);
    return true;
}

/* The process that waits for the test, and the leader of the test's group of processes; 0 if there is none. */
static pid_t supervisor = 0, leader = 0;

/* Lists the children of one or two processes that have not ended, except for one and the leader of the test's group. */
static int list_children(pid_t first, pid_t second, pid_t except, cplugincheck_process *out, int capacity) {
    int count = 0;
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    if (directory == NULL) return 0;
    while ((entry = readdir(directory)) != NULL) {
        cplugincheck_process process;
        pid_t parent;
        char state;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (!read_process(entry->d_name, &process, &parent, &state)) continue;
        if ((parent != first && parent != second) || process.id == except || process.id == leader) continue;
        if (state == 'Z' || state == 'X') continue;
        if (count < capacity) out[count] = process;
        count += 1;
    }
    closedir(directory);
    return count;
}

int cplugincheck_started_processes(cplugincheck_process *out, int capacity) {
    const pid_t self = getpid();
    return list_children(self, supervisor > 0 ? supervisor : self, self, out, capacity);
}

/* Kills the children, and theirs, which the caller adopts meanwhile. */
static void kill_children(void) {
    cplugincheck_process children[64];
    /* A limit, because they may start others as quickly as they are killed. */
    for (int round = 0; round < 10000; round++) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        if (ended < 0 && errno == ECHILD) return;
        int count = list_children(getpid(), getpid(), 0, children, 64);
        for (int i = 0; i < count && i < 64; i++) kill(children[i].id, SIGKILL);
        if (count > 0) waitpid(-1, NULL, 0);
    }
}

/* Ends the process in the way of another one. */
static void end_as(int status) {
    if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        struct rlimit none = {0, 0};
        sigset_t set;
        setrlimit(RLIMIT_CORE, &none);
        signal(number, SIG_DFL);
        sigemptyset(&set);
        sigaddset(&set, number);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        raise(number);
    }
    _exit(WEXITSTATUS(status));
}

/*
 * Starts a process that only leads a group of processes, and ends with its parent. A leader of a group cannot leave its
 * session: were the test one, setsid() would fail in it, and a program that a script has started is none. Returns -1
 * on an error.
 */
static pid_t start_leader(void) {
    pid_t parent = getpid();
    pid_t started = fork();
    if (started == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        close_range(0, ~0u, 0);
        while (getppid() == parent) pause();
        _exit(0);
    }
    if (started > 0) setpgid(started, started);
    return started;
}

/*
 * Waits for the test, ends what it leaves behind, and ends. `group` is the test's group of processes. The caller has
 * blocked the signals.
 */
static void supervise(pid_t test, pid_t group, const sigset_t *awaited) {
    int status = 0;
    bool has_ended = false;
    while (!has_ended) {
        int other;
        pid_t ended;
        while ((ended = waitpid(-1, &other, WNOHANG)) > 0) {
            if (ended != test) continue;
            status = other;
            has_ended = true;
        }
        if (!has_ended && sigwaitinfo(awaited, NULL) == SIGTERM) {
            kill(-group, SIGKILL);
            kill(test, SIGKILL);
        }
    }
    kill(-group, SIGKILL);
    waitpid(group, NULL, 0);
    kill_children();
    end_as(status);
}

int cplugincheck_supervise(void) {
    sigset_t awaited, former;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    sigprocmask(SIG_BLOCK, &awaited, &former);
    supervisor = getpid();
    leader = start_leader();
    pid_t test = leader < 0 ? -1 : fork();
    if (test > 0) {
        setpgid(test, leader);
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        /* Otherwise pipes would not end with the test. */
        close_range(0, ~0u, 0);
        supervise(test, leader, &awaited);
    }
    int result = test < 0 ? errno : 0;
    if (test < 0) {
        supervisor = 0;
        if (leader > 0 && kill(leader, SIGKILL) == 0) waitpid(leader, NULL, 0);
    }
    if (test == 0) {
        setpgid(0, leader);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        /* It may have ended before. */
        if (getppid() != supervisor) _exit(1);
    }
    sigprocmask(SIG_SETMASK, &former, NULL);
    return result;
}

bool cplugincheck_has_ended(pid_t child) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    /* waitid() fails if it is not a child, or was waited for already. */
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return true;
    return info.si_pid != 0;
}

#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Other machines have addresses that are less random by default. */
#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define FIRST_ARGUMENT(context) ((context)->uc_mcontext.gregs[REG_RDI])
#endif

/* What <signal.h> of some versions of the C library lacks. */
#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

/* The second argument of the program's own exit_group, which the kernel ignores; 0 before the first filter. */
static _Atomic uint64_t pass;

void guard_end(int exit_code) { syscall(SYS_exit_group, exit_code, atomic_load(&pass)); }

#ifdef ARCHITECTURE

enum { range_limit = 64 };

/* The executable segments with a filter. */
static struct range {
    uintptr_t start, end;
    bool is_of_linker;
} ranges[range_limit];
static atomic_int range_count;

/* The exit code of a process that posix_spawn() could not start. It ends in the C library, still with this
 * process's addresses. */
enum { spawn_error = 127 };

/* A word of the data that a filter sees: the low or the high half of a member, on a little-endian machine. */
#define LOW(member) (uint32_t)offsetof(struct seccomp_data, member)
#define HIGH(member) (uint32_t)(offsetof(struct seccomp_data, member) + 4)
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define IF(test, value, yes, no) BPF_JUMP(BPF_JMP | test | BPF_K, (uint32_t)(value), yes, no)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)

/* Installs a filter for all threads. Returns 0, -1 with an error in errno, or the id of a thread that has others. */
static long install(const struct sock_fprog *program) {
    /* Older kernels turn mitigations on for processes with filters, which cost time, unless told not to. */
    const unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    if (result != -1 || errno != EINVAL) return result;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
}

/*
 * Adds a filter for a segment, which must not cross a multiple of 4 GiB.
 *
 * Processes that this one starts inherit the filter. They have their libraries at other, random addresses: of 28
 * bits, so that the filter matches there in one of 100,000 cases at most.
 */
static bool add_filter(const struct range *range) {
    if (range->start >> 32 != range->end >> 32) return false;
    struct sock_filter code[] = {
        LOAD(LOW(arch)), IF(BPF_JEQ, ARCHITECTURE, 0, 12),
        LOAD(LOW(nr)), IF(BPF_JEQ, SYS_exit_group, 0, 10),
        LOAD(HIGH(instruction_pointer)), IF(BPF_JEQ, range->start >> 32, 0, 8),
        LOAD(LOW(instruction_pointer)), IF(BPF_JGE, range->start, 0, 6), IF(BPF_JGT, range->end, 5, 0),
        LOAD(LOW(args[0])), IF(BPF_JEQ, spawn_error, range->is_of_linker ? 0 : 3, 0),
        LOAD(LOW(args[1])), IF(BPF_JEQ, atomic_load(&pass), 1, 0),
        RETURN(SECCOMP_RET_TRAP),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    long result = install(&program);
    /* Without a privilege, filters need a process that gains none by exec. */
    if (result == -1 && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) result = install(&program);
    return result == 0;
}

static bool has_filter(uintptr_t start) {
    for (int i = 0; i < range_count; i++) {
        if (ranges[i].start == start) return true;
    }
    return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    bool (*is_known)(const void *) = *(bool (**)(const void *))data;
    bool is_c_library = strstr(info->dlpi_name, "/libc.so.") != NULL;
    bool is_linker = strstr(info->dlpi_name, "/ld-linux") != NULL;
    for (int i = 0; i < info->dlpi_phnum && range_count < range_limit; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || has_filter(start)) continue;
        if (!is_c_library && !is_linker && is_known((const void *)start)) continue;
        struct range range = {start, start + part->p_memsz, is_linker};
        if (add_filter(&range)) ranges[atomic_fetch_add(&range_count, 1)] = range;
    }
    return 0;
}

/* Whether the processes that this one starts have random addresses. */
static bool are_addresses_random(void) {
    char setting = '0';
    int state = personality(0xffffffff);
    int file = open("/proc/sys/kernel/randomize_va_space", O_RDONLY | O_CLOEXEC);
    bool is_read = file >= 0 && read(file, &setting, 1) == 1;
    if (file >= 0) close(file);
    return is_read && setting != '0' && state != -1 && !(state & ADDR_NO_RANDOMIZE);
}

void guard_libraries(bool (*is_known)(const void *address)) {
    if (!are_addresses_random()) return;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    uint64_t random = 0;
    if (atomic_load(&pass) == 0 && getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random) {
        atomic_store(&pass, random);
    }
    if ((uint32_t)atomic_load(&pass) != 0) dl_iterate_phdr(look, &is_known);
    pthread_mutex_unlock(&lock);
}

bool guard_has_raised(const siginfo_t *info, const void *context, struct guard_call *call) {
    if (info->si_signo != SIGSYS || info->si_code != SYS_SECCOMP || info->si_syscall != SYS_exit_group) return false;
    call->exit_code = (int)FIRST_ARGUMENT((const ucontext_t *)context);
    call->address = info->si_call_addr;
    int count = atomic_load(&range_count);
    call->is_of_linker = false;
    for (int i = 0; i < count; i++) {
        bool is_inside = (uintptr_t)call->address - ranges[i].start <= ranges[i].end - ranges[i].start;
        if (ranges[i].is_of_linker && is_inside) call->is_of_linker = true;
    }
    return count > 0;
}

int guard_filter_count(void) { return atomic_load(&range_count); }

#else

void guard_libraries(bool (*is_known)(const void *address)) { (void)is_known; }

int guard_filter_count(void) { return 0; }

bool guard_has_raised(const siginfo_t *info, const void *context, struct guard_call *call) {
    (void)info, (void)context, (void)call;
    return false;
}

#endif

#define _GNU_SOURCE
#include "CPluginLoad.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Since Linux 6.3. A library is mapped, not executed, so its file need not be executable. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* Since Linux 6.3 and 6.4. */
#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66
#endif
#ifndef PR_GET_MEMORY_MERGE
#define PR_GET_MEMORY_MERGE 68
#endif

_Thread_local void *cpluginload_call;

static int first(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

unsigned long long cpluginload_count(void) {
    unsigned long long count = 0;
    dl_iterate_phdr(first, &count);
    return count;
}

char **cpluginload_environment(void) { return environ; }

cpluginload_ids cpluginload_identity(void) {
    cpluginload_ids ids;
    getresuid(&ids.user, &ids.effective_user, &ids.saved_user);
    getresgid(&ids.group, &ids.effective_group, &ids.saved_group);
    return ids;
}

const char *cpluginload_signal_name(int signal) { return sigabbrev_np(signal); }

size_t cpluginload_block_size(void *block) { return malloc_usable_size(block); }

size_t cpluginload_stack_size(void) {
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_getattr_default_np(&attributes) != 0) return 0;
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
    return size;
}

void cpluginload_set_stack_size(size_t size) {
    pthread_attr_t attributes;
    if (pthread_getattr_default_np(&attributes) != 0) return;
    if (pthread_attr_setstacksize(&attributes, size) == 0) pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

void cpluginload_settings(int values[cpluginload_setting_count]) {
    /* Those that return the value, also for mitigations against speculation, and those that store it. */
    static const int returned[] = {PR_GET_DUMPABLE, PR_GET_KEEPCAPS,    PR_GET_TIMERSLACK, PR_GET_SECUREBITS,
                                   PR_MCE_KILL_GET, PR_GET_THP_DISABLE, PR_GET_MDWE,       PR_GET_MEMORY_MERGE};
    static const unsigned long mitigations[] = {PR_SPEC_STORE_BYPASS, PR_SPEC_INDIRECT_BRANCH, PR_SPEC_L1D_FLUSH};
    static const int stored[] = {PR_GET_PDEATHSIG, PR_GET_CHILD_SUBREAPER, PR_GET_TSC};
    enum {
        returned_count = sizeof returned / sizeof *returned,
        mitigation_count = sizeof mitigations / sizeof *mitigations,
        stored_count = sizeof stored / sizeof *stored,
    };
    _Static_assert(returned_count + mitigation_count + stored_count == cpluginload_setting_count, "one each");
    for (size_t i = 0; i < returned_count; i++) *values++ = prctl(returned[i], 0L, 0L, 0L, 0L);
    for (size_t i = 0; i < mitigation_count; i++) {
        *values++ = prctl(PR_GET_SPECULATION_CTRL, mitigations[i], 0L, 0L, 0L);
    }
    for (size_t i = 0; i < stored_count; i++, values++) {
        if (prctl(stored[i], values, 0L, 0L, 0L)) *values = -1;
    }
}

struct search {
    uintptr_t address;
    unsigned long long loads; /* dlpi_adds during the iteration */
    size_t objects;           /* the number of objects so far */
    size_t place;             /* number of the object with the address, from 1; 0 for none */
};

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct search *search = data;
    search->loads = info->dlpi_adds;
    search->objects++;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && search->address - start < segment->p_memsz) {
            search->place = search->objects;
        }
    }
    return 0;
}

bool cpluginload_is_new(uintptr_t address, unsigned long long before) {
    struct search search = {.address = address};
    dl_iterate_phdr(look, &search);
    /* The linker appends loaded objects to its list, so the last ones are new. */
    return search.place != 0 && search.objects - search.place < search.loads - before;
}

static ssize_t move(int source, int target, unsigned long long *done, unsigned long long limit) {
    char bytes[65536];
    ssize_t got;
    do {
        got = pread(source, bytes, sizeof bytes, (off_t)*done);
    } while (got < 0 && errno == EINTR);
    if (got > 0 && (unsigned long long)got > limit - *done) {
        errno = EFBIG;
        return -1;
    }
    for (ssize_t written = 0; written < got;) {
        ssize_t part = write(target, bytes + written, (size_t)(got - written));
        if (part < 0 && errno != EINTR) return -1;
        if (part > 0) written += part;
    }
    if (got > 0) *done += (unsigned long long)got;
    return got;
}

int cpluginload_copy(int source, unsigned long long limit, const char *name) {
    struct stat facts;
    if (fstat(source, &facts) != 0) return -1;
    if ((unsigned long long)facts.st_size > limit) {
        errno = EFBIG;
        return -1;
    }
    char title[200];
    snprintf(title, sizeof title, "%s", name);
    int target = memfd_create(title, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (target < 0 && errno == EINVAL) target = memfd_create(title, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (target < 0) return -1;
    unsigned long long done = 0;
    ssize_t moved;
    do {
        moved = move(source, target, &done, limit);
    } while (moved > 0);
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    if (moved == 0 && fcntl(target, F_ADD_SEALS, seals) == 0) return target;
    int why = errno;
    close(target);
    errno = why;
    return -1;
}

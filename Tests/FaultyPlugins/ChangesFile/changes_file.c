/* Its file is written while it is being mapped: by itself, so that it is always in time. The time of its
 * last write is set back to what it was. */
#define _GNU_SOURCE
#include "../faulty.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

static char anchor;

__attribute__((constructor)) static void touch(void) {
    struct timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};
    struct stat facts;
    Dl_info info;
    if (dladdr(&anchor, &info) == 0 || stat(info.dli_fname, &facts) != 0) return;
    times[1] = facts.st_mtim;
    utimensat(AT_FDCWD, info.dli_fname, times, 0);
}

static const outlet_descriptor descriptor = {DESCRIPTOR("faulty.changes-file")};
OUTLET_MODULE(descriptor)

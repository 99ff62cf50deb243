#define _GNU_SOURCE
#include "CPluginWatch.h"
#include "calls.h"
#include "libraries.h"
#include "raw.h"
#include "report.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

enum { kept_limit = 4096 };

/* The files of the descriptors that plugins cannot close; 0 for others. */
static _Atomic uint64_t kept[kept_limit];
static atomic_bool is_close_reported;

void cpluginwatch_keep(int descriptor) {
    if (descriptor > STDERR_FILENO && descriptor < kept_limit) atomic_store(&kept[descriptor], raw_file(descriptor));
}

/* Notes that the descriptors from first to last are none of the program's. */
static void release(unsigned first, unsigned last) {
    for (unsigned i = first; i <= last && i < kept_limit; i++) {
        if (atomic_load_explicit(&kept[i], memory_order_relaxed) != 0) atomic_store(&kept[i], 0);
    }
}

void cpluginwatch_opened(int descriptor, const void *caller) {
    if (descriptor < 0) return;
    // Libraries that the program and a plugin share open descriptors for either.
    bool is_programs = !cpluginwatch_is_on() || watch_is_of_executable(caller) ||
                       (watch_depth() == 0 && watch_is_of_program(caller));
    if (is_programs) {
        cpluginwatch_keep(descriptor);
    } else {
        release((unsigned)descriptor, (unsigned)descriptor);
    }
}

bool cpluginwatch_refuses_close(unsigned first, unsigned last, const void *caller) {
    if (watch_depth() > 0 && watch_is_of_plugin(caller)) {
        for (unsigned i = first; i <= last && i < kept_limit; i++) {
            if (!raw_is_file((int)i, atomic_load(&kept[i]))) continue;
            if (!atomic_exchange(&is_close_reported, true)) {
                watch_report("has tried to close descriptors that are not its own", "");
            }
            errno = EBADF;
            return true;
        }
    }
    release(first, last);
    return false;
}

/*
 * descriptors.h - Whether a plugin may close descriptors.
 */
#ifndef CPROCESSEXIT_DESCRIPTORS_H
#define CPROCESSEXIT_DESCRIPTORS_H

#include <stdbool.h>
#include <unistd.h>

#include "CPluginWatch.h"

/* Whether a plugin may not close a descriptor, or a range of them. */
static inline bool refuses(long descriptor, const void *caller) {
    return cpluginwatch_refuses_close((unsigned)descriptor, (unsigned)descriptor, caller);
}

static inline bool refuses_range(unsigned first, unsigned last, int flags, const void *caller) {
    return !(flags & CLOSE_RANGE_CLOEXEC) && cpluginwatch_refuses_close(first, last, caller);
}

#endif

#define _GNU_SOURCE
#include "process.h"
#include "CPluginWatch.h"
#include "raw.h"

#include <stdatomic.h>
#include <stdio.h>

static atomic_bool is_on, is_exit_expected;
static atomic_int code, process;

bool cpluginwatch_is_on(void) { return atomic_load_explicit(&is_on, memory_order_relaxed); }

bool watch_applies(void) { return cpluginwatch_is_on() && raw_process() == atomic_load(&process); }

void watch_turn_on(void) {
    atomic_store(&process, getpid());
    atomic_store(&is_on, true);
}

int watch_exit_code(void) { return atomic_load(&code); }

void watch_set_exit_code(int exit_code) { atomic_store(&code, exit_code); }

bool watch_expects_exit(void) { return atomic_load(&is_exit_expected); }

void watch_set_expects_exit(bool expects) { atomic_store(&is_exit_expected, expects); }

void cpluginwatch_flush_output(void) { fflush_unlocked(stdout); }

#include "grace.h"

#include <stdlib.h>
#include <threads.h>
#include <time.h>

/*
 * Gives the threads of a program time to release what they hold before leaks are searched for.
 *
 * outlet exits as soon as its answer is printed, while the session's threads still release it. What
 * they hold then is not always found: a Swift enum may keep its case in bits of a reference, as that
 * of Data does, which the leak check cannot read.
 */
static void let_go(void) {
    thrd_sleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
}

/* Registered behind the leak check, which the sanitizer has done before, this runs ahead of it. */
__attribute__((constructor)) static void give_grace(void) { atexit(let_go); }

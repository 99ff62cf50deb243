#include "grace.h"

#include <stdlib.h>
#include <threads.h>
#include <time.h>

/*
 * Waits at exit, so that the program's threads release their memory before the leak check runs.
 *
 * The outlet command exits as soon as the response is printed, while threads of the session still
 * release objects. The leak check would report some of these: a Swift enum, such as the storage of
 * Data, may keep its case in spare bits of a reference, and the leak check does not recognise such
 * a pointer.
 */
static void let_go(void) {
    thrd_sleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
}

/* atexit() functions run in reverse order: the sanitizer registered its check before this one. */
__attribute__((constructor)) static void give_grace(void) { atexit(let_go); }

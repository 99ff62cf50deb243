/*
 * guard.h - Notices code that ends the process without the program's own exit functions: with a function of the C
 * library that it has looked up, or with a system call in machine code.
 */
#ifndef CPLUGINWATCH_GUARD_H
#define CPLUGINWATCH_GUARD_H

#include <signal.h>
#include <stdbool.h>

/* Ends the process with exit_group, which the guard lets pass. Async-signal-safe. */
void guard_end(int exit_code);

/*
 * Makes exit_group in the executable segments of the C library, of the dynamic linker, and of the libraries that were loaded since the last
 * call, raise SIGSYS. Has no effect where the kernel or the machine does not support that. Thread: any.
 *
 * is_known: whether an address lies in the program, or in a library that was loaded before the first plugin.
 */
void guard_libraries(bool (*is_known)(const void *address));

/* The number of filters that guard_libraries() has installed. Thread: that which calls it. */
int guard_filter_count(void);

/* A call of exit_group that the guard has stopped. */
struct guard_call {
    int exit_code;
    const void *address; /* of the system call's instruction */
    bool is_of_linker;   /* whether it is one of the dynamic linker's, which gives up so */
};

/* Whether a SIGSYS was raised by the guard; if so, describes the call. Async-signal-safe. */
bool guard_has_raised(const siginfo_t *info, const void *context, struct guard_call *call);

#endif

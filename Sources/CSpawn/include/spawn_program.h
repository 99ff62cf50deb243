#ifndef OUTLET_SPAWN_PROGRAM_H
#define OUTLET_SPAWN_PROGRAM_H

#include <sys/types.h>

/// What starting a program needs, and Swift's Glibc module leaves out.
///
/// The program gets `count` descriptors as its 0, 1, 2 and so on and no others of this process,
/// default signal handling, and a process group of its own, so that all of it can be signalled.
/// `directory` may be NULL. Returns 0 and the process id, or an errno value.
int spawn_program(
    pid_t *pid, const char *path, char *const *arguments, char *const *environment,
    const char *directory, const int *descriptors, int count);

/// Waits for a child to end. Returns its exit code, or 256 plus the signal that ended it, or -1.
int wait_for_program(pid_t pid);

/// A pipe that other programs do not inherit. Returns 0 or an errno value.
int private_pipe(int ends[2]);

/// A pseudo terminal of the given size that other programs do not inherit: controller, terminal.
/// Returns 0 or an errno value.
int private_terminal(int ends[2], unsigned short columns, unsigned short rows);

#endif

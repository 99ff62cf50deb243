#ifndef OUTLET_SPAWN_PROGRAM_H
#define OUTLET_SPAWN_PROGRAM_H

#include <sys/types.h>

/// Starts a program with options that Swift's Glibc module does not offer.
///
/// The program gets `count` descriptors (at most 16) as 0, 1, 2 and so on, and no others of this
/// process. It has default signal handling, no blocked signals, and its own process group, so that
/// a signal can be sent to all its processes. `directory` is its working directory; NULL keeps this
/// process's. Returns 0 and the process id, or an errno value.
int spawn_program(
    pid_t *pid, const char *path, char *const *arguments, char *const *environment,
    const char *directory, const int *descriptors, int count);

/// Waits for a child to end. Returns its exit code, or 256 plus the signal that ended it, or -1 if
/// it cannot be waited for. Blocks the calling thread.
int wait_for_program(pid_t pid);

/// Makes a pipe that child processes do not inherit (close-on-exec): read end, write end. Returns 0
/// or an errno value.
int private_pipe(int ends[2]);

/// Makes a pseudo terminal of the given size that child processes do not inherit: controller,
/// terminal. Returns 0 or an errno value.
int private_terminal(int ends[2], unsigned short columns, unsigned short rows);

#endif

#define _GNU_SOURCE
#include "spawn_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn_with(
    pid_t *pid, const char *path, char *const *arguments, char *const *environment,
    const char *directory, const int *descriptors, int count) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int result = posix_spawn_file_actions_init(&actions);
    if (result != 0) return result;
    result = posix_spawnattr_init(&attributes);
    if (result != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return result;
    }

    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

    for (int i = 0; i < count && result == 0; i++) {
        result = posix_spawn_file_actions_adddup2(&actions, descriptors[i], i);
    }
    if (result == 0) result = posix_spawn_file_actions_addclosefrom_np(&actions, count);
    if (result == 0 && directory) {
        result = posix_spawn_file_actions_addchdir_np(&actions, directory);
    }
    if (result == 0) {
        result = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

int spawn_program(
    pid_t *pid, const char *path, char *const *arguments, char *const *environment,
    const char *directory, const int *descriptors, int count) {
    // Copies with numbers above those of the program, so that none is overwritten before it was used.
    int copies[16];
    if (count > 16) return EMFILE;
    for (int i = 0; i < count; i++) {
        copies[i] = fcntl(descriptors[i], F_DUPFD_CLOEXEC, count);
        if (copies[i] < 0) {
            int error = errno;
            while (i-- > 0) close(copies[i]);
            return error;
        }
    }
    int result = spawn_with(pid, path, arguments, environment, directory, copies, count);
    for (int i = 0; i < count; i++) close(copies[i]);
    return result;
}

int wait_for_program(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int private_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
}

int private_terminal(int ends[2], unsigned short columns, unsigned short rows) {
    int controller = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (controller < 0) return errno;
    int terminal = -1;
    if (grantpt(controller) == 0 && unlockpt(controller) == 0) {
        terminal = open(ptsname(controller), O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    if (terminal < 0 || ioctl(terminal, TIOCSWINSZ, &size) != 0) {
        int error = errno;
        if (terminal >= 0) close(terminal);
        close(controller);
        return error;
    }
    ends[0] = controller;
    ends[1] = terminal;
    return 0;
}

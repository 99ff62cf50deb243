#define _GNU_SOURCE
#include "CProcessExit.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "CPluginWatch.h"
#include "descriptors.h"
#include "next.h"

/* Some of the functions that are replaced are no longer declared. */
int __close(int descriptor);
int __dup2(int descriptor, int target);
int _IO_fclose(FILE *file);
int _IO_file_close(FILE *file);
int _IO_file_close_it(FILE *file);
/* Not those of <dirent.h>, after which the compiler removes the test for NULL that closedir() makes. */
int closedir(void *directory);
int dirfd(void *directory);

#if !CPROCESSEXIT_SANITIZED
/* Defines a function that opens a descriptor. */
#define OPEN(name, parameters, arguments)                             \
    int name parameters {                                             \
        __typeof__(&name) next = NEXT_KEPT(name);                     \
        int descriptor = next ? next arguments : -1;                  \
        cpluginwatch_opened(descriptor, __builtin_return_address(0)); \
        return descriptor;                                            \
    }

OPEN(socket, (int domain, int type, int protocol), (domain, type, protocol))
OPEN(eventfd, (unsigned value, int flags), (value, flags))
OPEN(epoll_create1, (int flags), (flags))
OPEN(timerfd_create, (clockid_t clock, int flags), (clock, flags))
OPEN(mkstemp, (char *path), (path))
OPEN(memfd_create, (const char *name, unsigned flags), (name, flags))
OPEN(dup, (int other), (other))
OPEN(accept, (int listener, struct sockaddr *restrict address, socklen_t *restrict size), (listener, address, size))
OPEN(accept4, (int listener, struct sockaddr *restrict address, socklen_t *restrict size, int flags),
     (listener, address, size, flags))

/* Defines a function that opens two descriptors. */
#define OPEN_TWO(name, parameters, arguments)                          \
    int name parameters {                                              \
        __typeof__(&name) next = NEXT_KEPT(name);                      \
        int status = next ? next arguments : -1;                       \
        for (int i = 0; status == 0 && i < 2; i++) {                   \
            cpluginwatch_opened(ends[i], __builtin_return_address(0)); \
        }                                                              \
        return status;                                                 \
    }

OPEN_TWO(pipe, (int ends[2]), (ends))
OPEN_TWO(pipe2, (int ends[2], int flags), (ends, flags))
OPEN_TWO(socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends))

/* Defines a function that opens a file; the mode of a new file is its last argument. */
#define OPEN_FILE(name, parameters, last, arguments)                       \
    int name parameters {                                                  \
        va_list rest;                                                      \
        va_start(rest, last);                                              \
        mode_t mode = __OPEN_NEEDS_MODE(flags) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                      \
        __typeof__(&name) next = NEXT_KEPT(name);                          \
        int descriptor = next ? next arguments : -1;                       \
        cpluginwatch_opened(descriptor, __builtin_return_address(0));      \
        return descriptor;                                                 \
    }

OPEN_FILE(open, (const char *path, int flags, ...), flags, (path, flags, mode))
OPEN_FILE(open64, (const char *path, int flags, ...), flags, (path, flags, mode))
OPEN_FILE(openat, (int directory, const char *path, int flags, ...), flags, (directory, path, flags, mode))
OPEN_FILE(openat64, (int directory, const char *path, int flags, ...), flags, (directory, path, flags, mode))

/* Defines a function that takes an integer or a pointer. */
#define CONTROL(name)                                                                                  \
    int name(int descriptor, int command, ...) {                                                       \
        const void *caller = __builtin_return_address(0);                                              \
        va_list rest;                                                                                  \
        va_start(rest, command);                                                                       \
        void *argument = va_arg(rest, void *);                                                         \
        va_end(rest);                                                                                  \
        if (command == F_SETSIG) cpluginwatch_signal_asked((int)(intptr_t)argument, caller);           \
        __typeof__(&name) next = NEXT_KEPT(name);                                                      \
        int result = next ? next(descriptor, command, argument) : -1;                                  \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) cpluginwatch_opened(result, caller);     \
        return result;                                                                                 \
    }

CONTROL(fcntl)
CONTROL(fcntl64)

/* The descriptor of a stream; -1 for none. Keeps errno. */
static int descriptor_of(FILE *file) {
    int error = errno, descriptor = fileno(file);
    errno = error;
    return descriptor;
}

/* Defines a function that closes a descriptor. */
#define CLOSE(name, result, failure, parameters, descriptor, arguments)       \
    result name parameters {                                                  \
        if (refuses(descriptor, __builtin_return_address(0))) return failure; \
        __typeof__(&name) next = NEXT_KEPT(name);                             \
        return next ? next arguments : failure;                               \
    }

CLOSE(close, int, -1, (int descriptor), descriptor, (descriptor))
CLOSE(__close, int, -1, (int descriptor), descriptor, (descriptor))
CLOSE(fclose, int, EOF, (FILE *file), descriptor_of(file), (file))
CLOSE(_IO_fclose, int, EOF, (FILE *file), descriptor_of(file), (file))
CLOSE(_IO_file_close, int, -1, (FILE *file), descriptor_of(file), (file))
CLOSE(_IO_file_close_it, int, EOF, (FILE *file), descriptor_of(file), (file))
CLOSE(pclose, int, -1, (FILE *file), descriptor_of(file), (file))
CLOSE(endmntent, int, 1, (FILE *file), descriptor_of(file), (file))
CLOSE(closedir, int, -1, (void *directory), directory ? dirfd(directory) : -1, (directory))
CLOSE(freopen, FILE *, NULL, (const char *restrict path, const char *restrict mode, FILE *restrict file),
      descriptor_of(file), (path, mode, file))
CLOSE(freopen64, FILE *, NULL, (const char *restrict path, const char *restrict mode, FILE *restrict file),
      descriptor_of(file), (path, mode, file))
CLOSE(dup3, int, -1, (int descriptor, int target, int flags), target, (descriptor, target, flags))

int close_range(unsigned first, unsigned last, int flags) {
    if (refuses_range(first, last, flags, __builtin_return_address(0))) return -1;
    CALL_NEXT(close_range, (first, last, flags));
}

void closefrom(int first) {
    if (refuses_range(first < 0 ? 0 : (unsigned)first, ~0U, 0, __builtin_return_address(0))) return;
    __typeof__(&closefrom) next = NEXT_KEPT(closefrom);
    if (next) next(first);
}

int dup2(int descriptor, int target) {
    if (descriptor != target && refuses(target, __builtin_return_address(0))) return -1;
    CALL_NEXT(dup2, (descriptor, target));
}

int __dup2(int descriptor, int target) {
    if (descriptor != target && refuses(target, __builtin_return_address(0))) return -1;
    CALL_NEXT(__dup2, (descriptor, target));
}
#endif

#define _GNU_SOURCE
#include "CProcessExit.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "CPluginWatch.h"
#include "next.h"

__attribute__((noreturn)) void _exit(int status) {
    for (;;) cpluginwatch_exit(status);
}

__attribute__((noreturn)) void _Exit(int status) {
    for (;;) cpluginwatch_exit(status);
}

__attribute__((noreturn)) void exit(int status) {
    cpluginwatch_exit_called(status);
    __typeof__(&exit) next = NEXT(exit);
    if (next) next(status);
    cpluginwatch_end(status);
}

/* Destructors of a plugin run when the handlers of at_quick_exit() have been removed. */
__attribute__((noreturn)) void quick_exit(int status) {
    cpluginwatch_quick_exit_called();
    __typeof__(&quick_exit) next = NEXT(quick_exit);
    if (next) next(status);
    cpluginwatch_end(status);
}

int daemon(int keeps_directory, int keeps_streams) {
    if (cpluginwatch_daemon()) return -1;
    CALL_NEXT(daemon, (keeps_directory, keeps_streams));
}

/* Defines an exec function, whose parameters and arguments are passed in parentheses. */
#define EXEC(name, parameters, arguments) \
    int name parameters {                 \
        cpluginwatch_exec();              \
        CALL_NEXT(name, arguments);       \
    }

EXEC(execve, (const char *path, char *const list[], char *const values[]), (path, list, values))
EXEC(execv, (const char *path, char *const list[]), (path, list))
EXEC(execvp, (const char *file, char *const list[]), (file, list))
EXEC(execvpe, (const char *file, char *const list[], char *const values[]), (file, list, values))
EXEC(execveat, (int directory, const char *path, char *const list[], char *const values[], int flags),
     (directory, path, list, values, flags))
EXEC(fexecve, (int file, char *const list[], char *const values[]), (file, list, values))

/* Defines a variadic exec function, which passes its arguments, up to a null pointer, as a list. */
#define EXEC_LIST(name, call)                                                            \
    int name(const char *file, const char *first, ...) {                                 \
        va_list rest;                                                                    \
        size_t count = 1;                                                                \
        va_start(rest, first);                                                           \
        for (const char *next = first; next; next = va_arg(rest, const char *)) count++; \
        va_end(rest);                                                                    \
        char *list[count];                                                               \
        va_start(rest, first);                                                           \
        list[0] = (char *)first;                                                         \
        for (size_t i = 1; i < count; i++) list[i] = va_arg(rest, char *);               \
        int status = call;                                                               \
        va_end(rest);                                                                    \
        return status;                                                                   \
    }

EXEC_LIST(execl, execv(file, list))
EXEC_LIST(execlp, execvp(file, list))
EXEC_LIST(execle, execve(file, list, va_arg(rest, char *const *)))

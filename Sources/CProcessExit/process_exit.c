#include "CProcessExit.h"

#include "CPluginWatch.h"

/* Symbols of the executable take precedence over the C library's, so a plugin that calls these is
 * reported. Calls within the C library and raw system calls do not come here. */

__attribute__((noreturn)) void _exit(int status) {
    for (;;) cpluginwatch_exit(status);
}

__attribute__((noreturn)) void _Exit(int status) {
    for (;;) cpluginwatch_exit(status);
}

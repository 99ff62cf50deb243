#include "CProcessExit.h"

#include "CPluginWatch.h"

/* In a program, these stand before the C library's for all that it loads: a plugin that ends the process
 * is named. What the C library itself calls, and raw system calls, do not pass here. */

__attribute__((noreturn)) void _exit(int status) {
    for (;;) cpluginwatch_exit(status);
}

__attribute__((noreturn)) void _Exit(int status) {
    for (;;) cpluginwatch_exit(status);
}

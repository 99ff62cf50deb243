/* Its IFUNC resolver, which the loader calls with its lock held, writes a line to stderr and never returns. */
#include "faulty.h"
#include <sys/syscall.h>

/* Functions of the C library may not be bound yet. */
static void (*resolve(void))(void) {
    static const char line[] = "resolving\n";
    volatile int is_awaited = 1;
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_write), "D"(2L), "S"(line), "d"(sizeof line - 1)
                     : "rcx", "r11", "memory");
#endif
    while (is_awaited) {}
    return NULL;
}

void resolved(void) __attribute__((ifunc("resolve")));

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    resolved();
    return OUTLET_OK;
}

PREPARES("faulty.blocks-in-resolver")

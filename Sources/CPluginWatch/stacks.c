#define _GNU_SOURCE
#include "stacks.h"
#include "CPluginWatch.h"
#include "calls.h"
#include "libraries.h"
#include "process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

enum { stack_size = 65536 };

/* The stack of each thread. */
static pthread_key_t stacks;

/* Called when the thread ends. */
static void free_stack(void *memory) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    munmap(memory, stack_size);
}

bool watch_prepare_stacks(void) { return pthread_key_create(&stacks, free_stack) == 0; }

void watch_make_ready(void) {
    if (watch_has_marked_storage()) return;
    watch_mark_storage();
    stack_t current;
    if (sigaltstack(NULL, &current) != 0 || !(current.ss_flags & SS_DISABLE)) return;
    void *memory =
        mmap(NULL, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack = {.ss_sp = memory, .ss_size = stack_size};
    if (sigaltstack(&stack, NULL) != 0 || pthread_setspecific(stacks, memory) != 0) {
        munmap(memory, stack_size);
    }
}

bool cpluginwatch_keeps_stack(const void *caller) {
    return watch_applies() && watch_has_marked_storage() && !watch_is_of_program(caller);
}

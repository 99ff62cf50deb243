/* Its prepare ends the process without exit handlers; the checker must report it.
 *
 * "how" says with what: "_exit" (the default), "next" and "handle", the C library's function, found
 * behind the program's and with a handle, or "machine", a system call in machine code. "thread" ends only the
 * thread, by a system call; "overflow" uses up the stack after it has removed the host's signal stack by one. */
#define _GNU_SOURCE
#include "faulty.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static char how[16];

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    setting(host, call, "how", how, sizeof how);
    return make(descriptor, host, call, config, out);
}

static void end_with(void *handle) {
    void (*end)(int);
    *(void **)&end = dlsym(handle, "_exit");
    if (end) end(0);
}

static void end_by_machine_code(void) {
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
#else
    _exit(0);
#endif
}

static volatile int is_endless = 1;

static int use_stack(volatile char *former) {
    volatile char bytes[4096];
    bytes[0] = former ? former[0] : 1;
    return is_endless ? use_stack(bytes) + bytes[0] : 0;
}

static void overflow(void) {
    const stack_t none = {.ss_flags = SS_DISABLE};
    syscall(SYS_sigaltstack, &none, NULL);
    use_stack(NULL);
}

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    if (strcmp(how, "thread") == 0) syscall(SYS_exit, 0);
    if (strcmp(how, "overflow") == 0) overflow();
    if (strcmp(how, "next") == 0) end_with(RTLD_NEXT);
    if (strcmp(how, "handle") == 0) end_with(dlopen("libc.so.6", RTLD_NOW));
    if (strcmp(how, "machine") == 0) end_by_machine_code();
    _exit(0);
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.raw-exit"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .hooks = hooks};
OUTLET_MODULE(descriptor)

/* Ends the process while it exits, long after destroy. The checker must report it.
 *
 * Where it does so ("at"): in a handler that create registers with "atexit" or "on_exit", which
 * learns the exit code, or in a "destructor" of the library. How it does so ("how"): with "exit",
 * "_exit", "quick_exit", "exec", "errx", which calls exit() within the C library, errx() in a "thread", the signal of
 * "kill", or by an "overflow" of the stack. */
#include "faulty.h"

#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static char at[16];
static char how[16];

static int overflow(const char *outer, long depth) {
    char volatile room[4096];
    room[0] = *outer;
    return depth == 0 ? room[0] : overflow((const char *)room, depth - 1) + room[0];
}

static void *end_thread(void *code) { errx((int)(intptr_t)code, "bye"); }

static void end(int code) {
    if (strcmp(how, "exit") == 0) exit(code);
    if (strcmp(how, "_exit") == 0) _exit(code);
    if (strcmp(how, "quick_exit") == 0) quick_exit(code);
    if (strcmp(how, "exec") == 0) execl("/bin/true", "true", (char *)NULL);
    if (strcmp(how, "errx") == 0) errx(code, "bye");
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_thread, (void *)(intptr_t)code) == 0) pthread_join(thread, NULL);
    }
    if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(how, "overflow") == 0) overflow("", 1 << 20);
}

static void at_exit(void) { end(0); }

static void on_exit_code(int code, void *data) {
    (void)data;
    end(code);
}

__attribute__((destructor)) static void destruct(void) {
    if (strcmp(at, "destructor") == 0) end(0);
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    setting(host, call, "at", at, sizeof at);
    setting(host, call, "how", how, sizeof how);
    if (strcmp(at, "atexit") == 0) atexit(at_exit);
    if (strcmp(at, "on_exit") == 0) on_exit(on_exit_code, NULL);
    return make(descriptor, host, call, config, out);
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.ends-at-exit"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake};
OUTLET_MODULE(descriptor)

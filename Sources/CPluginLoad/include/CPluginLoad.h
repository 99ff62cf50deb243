/*
 * CPluginLoad.h - Information from the dynamic linker about the loaded objects (the program and its
 * shared libraries), copies of files for it to load, and state of threads that call plugins.
 */
#ifndef CPLUGINLOAD_H
#define CPLUGINLOAD_H

#include <stdbool.h>
#include <stdint.h>

/* Returns how many objects were loaded since the process started, including unloaded ones. Thread: any. */
unsigned long long cpluginload_count(void);

/*
 * Whether an address is in an object that any thread has loaded since cpluginload_count() returned
 * `before`. If objects were unloaded meanwhile, a few older ones may be reported as new. Thread: any.
 */
bool cpluginload_is_new(uintptr_t address, unsigned long long before);

/* Returns the list of environment variables, which ends with NULL; NULL after clearenv(). Thread: any, while no
 * other changes the environment. */
char **cpluginload_environment(void);

/*
 * Returns the floating-point control of the calling thread: rounding, and which exceptions are masked, without
 * the status flags. 0 where it is not known.
 */
static inline uint64_t cpluginload_float_control(void) {
#if defined(__x86_64__)
    uint16_t control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    return (uint64_t)(__builtin_ia32_stmxcsr() & ~0x3Fu) << 16 | control;
#else
    return 0;
#endif
}

/* Sets the floating-point control of the calling thread to a value of cpluginload_float_control(), and clears the
 * status flags. */
static inline void cpluginload_set_float_control(uint64_t value) {
#if defined(__x86_64__)
    uint16_t control = (uint16_t)value;
    __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(control));
    __builtin_ia32_ldmxcsr((unsigned)(value >> 16));
#else
    (void)value;
#endif
}

/* Reads the first and the last of `count` bytes, at least one. */
static inline void cpluginload_read(const uint8_t *bytes, long count) {
    (void)*(const volatile uint8_t *)bytes;
    (void)*(const volatile uint8_t *)(bytes + count - 1);
}

/* Returns what the calling thread has set with cpluginload_set_current_call(); NULL at first. */
static inline void *cpluginload_current_call(void) {
    extern _Thread_local void *cpluginload_call;
    return cpluginload_call;
}

/* Sets the call of a plugin's hook that the calling thread runs; NULL for none. */
static inline void cpluginload_set_current_call(void *call) {
    extern _Thread_local void *cpluginload_call;
    cpluginload_call = call;
}

/*
 * Copies a file from its beginning into a sealed memory file (memfd_create(2)), which cannot be changed
 * any more. `name`, truncated if it is long, is the name of the memory file.
 *
 * Returns a descriptor, or -1 with errno: EFBIG if the file has more than `limit` bytes. Thread: any.
 */
int cpluginload_copy(int source, unsigned long long limit, const char *name);

#endif

/*
 * CPluginLoad.h - Information from the dynamic linker about the loaded objects (the program and its
 * shared libraries), copies of files for it to load, and state of threads that call plugins.
 */
#ifndef CPLUGINLOAD_H
#define CPLUGINLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Returns the name of a signal without "SIG", such as "SEGV"; NULL for one without a name. Thread: any. */
const char *cpluginload_signal_name(int signal);

/* The user and the group that the process acts for. */
typedef struct cpluginload_ids {
    uid_t user, effective_user, saved_user;
    gid_t group, effective_group, saved_group;
} cpluginload_ids;

cpluginload_ids cpluginload_identity(void);

enum { cpluginload_setting_count = 14 };

/* Returns the default size of a thread's stack in bytes; 0 if it is not known. Thread: any. */
size_t cpluginload_stack_size(void);

/* Sets the default size of a thread's stack in bytes. Thread: any. */
void cpluginload_set_stack_size(size_t size);

/* Returns the size of a block of malloc() in bytes, all of which may be written. Thread: any. */
size_t cpluginload_block_size(void *block);

/* Stores what prctl(2) tells of the calling thread and its process; -1 for what the kernel does not know. */
void cpluginload_settings(int values[cpluginload_setting_count]);

#if defined(__x86_64__)
/* The flags that functions leave clear: the direction of string instructions (DF), and faults of unaligned accesses
 * (AC). */
enum { cpluginload_flags = 0x40400 };
#endif

/* The bit of cpluginload_float_control() that tells of a register of the x87 in use. */
enum { cpluginload_x87_in_use = 0x200 << 16 };

/*
 * Returns the floating-point control of the calling thread: rounding, which exceptions are masked, and whether the
 * stack of the x87 is empty, as it must be between functions, without the status flags; and the processor's flags that
 * change how other instructions work. 0 where it is not known.
 *
 * Of the stack, its top is looked at, and whether the register above it is in use, which is emptied then. Others that
 * are in use above an empty one are not noticed.
 */
static inline uint64_t cpluginload_float_control(void) {
#if defined(__x86_64__)
    uint16_t control, status;
    __asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(control), "=a"(status));
    uint64_t stack = status & 0x3800;
    /* A value is loaded, and removed again: C1 then tells of a register that was in use. `fxam` of an empty register would
     * need 175 to 330 ns. Exceptions that are pending, or not masked, would be raised here. */
    if (!(status & 0x80) && (control & 1)) {
        __asm__ volatile("fld1\n\tfnstsw %0\n\tfstp %%st(0)" : "=a"(status));
        stack = status & (0x3800 | cpluginload_x87_in_use >> 16);
    }
    uint64_t flags = __builtin_ia32_readeflags_u64() & cpluginload_flags;
    return (uint64_t)(__builtin_ia32_stmxcsr() & ~0x3Fu) << 32 | (flags >> 9 | stack) << 16 | control;
#else
    return 0;
#endif
}

/*
 * Returns what cpluginload_float_control() must return after a plugin's code has run on the calling thread: the present
 * value, with no register in use, also where the program has left one.
 */
static inline uint64_t cpluginload_expected_float_control(void) {
    return cpluginload_float_control() & ~(uint64_t)cpluginload_x87_in_use;
}

/* Sets the floating-point control of the calling thread to a value of cpluginload_float_control(), clears the status
 * flags, and empties the stack. */
static inline void cpluginload_set_float_control(uint64_t value) {
#if defined(__x86_64__)
    uint16_t control = (uint16_t)value;
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(uint64_t)cpluginload_flags);
    __asm__ volatile("fninit\n\tfldcw %0" : : "m"(control));
    __builtin_ia32_ldmxcsr((unsigned)(value >> 32));
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

/*
 * CPluginLoad.h - Information from the dynamic linker about the loaded objects (the program and its
 * shared libraries), and copies of files for it to load.
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

/*
 * Copies a file from its beginning into a sealed memory file (memfd_create(2)), which cannot be changed
 * any more. `name`, truncated if it is long, is the name of the memory file.
 *
 * Returns a descriptor, or -1 with errno: EFBIG if the file has more than `limit` bytes. Thread: any.
 */
int cpluginload_copy(int source, unsigned long long limit, const char *name);

#endif

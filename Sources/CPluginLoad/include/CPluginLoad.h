/*
 * CPluginLoad.h - what the dynamic linker knows of the objects in this process, and files for it to load.
 */
#ifndef CPLUGINLOAD_H
#define CPLUGINLOAD_H

#include <stdbool.h>
#include <stdint.h>

/* How many objects have been loaded since the process began, those that are gone included. Thread: any. */
unsigned long long cpluginload_count(void);

/*
 * Whether an address lies in an object that was loaded since the count was `before`, by any thread.
 * Where objects have been unloaded meanwhile, a few older ones may pass for new. Thread: any.
 */
bool cpluginload_is_new(uintptr_t address, unsigned long long before);

/*
 * Copies a file from its beginning into memory (memfd_create(2)), where nobody can change it any more; the
 * file is called name there, cut if it is long.
 *
 * Returns a descriptor, or -1 with errno: EFBIG when there is more than limit. Thread: any.
 */
int cpluginload_copy(int source, unsigned long long limit, const char *name);

#endif

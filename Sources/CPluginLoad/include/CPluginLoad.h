/*
 * CPluginLoad.h - what the dynamic linker knows of the objects in this process.
 */
#ifndef CPLUGINLOAD_H
#define CPLUGINLOAD_H

#include <stdbool.h>
#include <stdint.h>

/* How many objects have been loaded since the process began, those that are gone included. Thread: any. */
unsigned long long cpluginload_count(void);

/*
 * Whether an address lies in an object that was loaded since the count was `before`, whoever loaded it.
 * Where objects have been unloaded meanwhile, a few older ones may pass for new. Thread: any.
 */
bool cpluginload_is_new(uintptr_t address, unsigned long long before);

#endif

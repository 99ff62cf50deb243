#ifndef OUTLET_RESOURCES_H
#define OUTLET_RESOURCES_H

#include <stddef.h>

/// Returns the number of bytes allocated with malloc() and not freed, in all arenas.
size_t heap_in_use(void);

#endif

#ifndef OUTLET_RESOURCES_H
#define OUTLET_RESOURCES_H

#include <stddef.h>

/// Bytes that malloc() has handed out and not got back, of all arenas.
size_t heap_in_use(void);

#endif

#ifndef OUTLET_STRESS_HEAP_H
#define OUTLET_STRESS_HEAP_H

#include <stddef.h>

/// Bytes in use in all of malloc's arenas, its caches included; 0 under the address sanitizer.
size_t heap_bytes(void);

#endif

#ifndef OUTLET_STRESS_HEAP_H
#define OUTLET_STRESS_HEAP_H

#include <stddef.h>

/// Returns the number of bytes in use in all arenas of malloc(), including blocks in the threads'
/// caches; 0 under the address sanitizer.
size_t heap_bytes(void);

#endif

#include "resources.h"

#include <malloc.h>

size_t heap_in_use(void) {
    struct mallinfo2 facts = mallinfo2();
    return facts.uordblks + facts.hblkhd;
}

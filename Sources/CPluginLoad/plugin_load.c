#define _GNU_SOURCE
#include "CPluginLoad.h"

#include <link.h>
#include <stddef.h>

static int first(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

unsigned long long cpluginload_count(void) {
    unsigned long long count = 0;
    dl_iterate_phdr(first, &count);
    return count;
}

struct search {
    uintptr_t address;
    unsigned long long loads; /* as counted during the walk */
    size_t objects;           /* seen so far */
    size_t place;             /* of the one that holds the address, from 1 on; 0 for none */
};

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct search *search = data;
    search->loads = info->dlpi_adds;
    search->objects++;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && search->address - start < segment->p_memsz) {
            search->place = search->objects;
        }
    }
    return 0;
}

bool cpluginload_is_new(uintptr_t address, unsigned long long before) {
    struct search search = {.address = address};
    dl_iterate_phdr(look, &search);
    /* The linker appends what it loads: the last ones are the new ones. */
    return search.place != 0 && search.objects - search.place < search.loads - before;
}

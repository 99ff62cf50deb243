#define _GNU_SOURCE
#include "libraries.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

enum { library_limit = 256 };

/* The executable segments, first those of the program's own file. */
static struct {
    uintptr_t start, end;
    bool starts_for_callers;
} libraries[library_limit];
static int library_count;

static int note_library(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    (void)data;
    bool starts_for_callers = strstr(info->dlpi_name, "/libstdc++.so") != NULL;
    for (int i = 0; i < info->dlpi_phnum && library_count < library_limit; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        libraries[library_count].starts_for_callers = starts_for_callers;
        libraries[library_count].start = info->dlpi_addr + part->p_vaddr;
        libraries[library_count++].end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

void watch_note_libraries(void) { dl_iterate_phdr(note_library, NULL); }

/* The index of the code with an address; library_count for others. */
static int library_of(const void *address) {
    int index = 0;
    for (; index < library_count; index++) {
        uintptr_t start = libraries[index].start, end = libraries[index].end;
        if ((uintptr_t)address >= start && (uintptr_t)address < end) break;
    }
    return index;
}

bool watch_is_of_program(const void *address) { return library_of(address) < library_count; }

bool watch_is_of_executable(const void *address) { return library_of(address) == 0; }

bool watch_starts_for_callers(const void *address) {
    int index = library_of(address);
    return index < library_count && libraries[index].starts_for_callers;
}

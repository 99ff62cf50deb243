/*
 * libraries.h - The code of the program and of the libraries that were loaded before the first plugin.
 */
#ifndef CPLUGINWATCH_LIBRARIES_H
#define CPLUGINWATCH_LIBRARIES_H

#include <stdbool.h>

/* Notes the code that is loaded. To be called once, before the functions below. */
void watch_note_libraries(void);

/* Whether an address lies in the program, or in a library that was loaded before the first plugin. Async-signal-safe. */
bool watch_is_of_program(const void *address);

/* Whether an address lies in the program's own file. */
bool watch_is_of_executable(const void *address);

/* Whether an address lies in a library that starts threads for its callers only: std::thread of the C++ library. */
bool watch_starts_for_callers(const void *address);

#endif

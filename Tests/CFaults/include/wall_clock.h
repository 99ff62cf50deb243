#ifndef OUTLET_WALL_CLOCK_H
#define OUTLET_WALL_CLOCK_H

/// Puts this process's wall clock forward, or back; the monotonic clock goes on as ever.
///
/// Linked into the tests, this library's clock_gettime() and time() take the place of the system's for
/// all shared libraries of the process. For processes that run one test alone.
void shift_wall_clock(long seconds);

#endif

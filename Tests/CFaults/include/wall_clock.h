#ifndef OUTLET_WALL_CLOCK_H
#define OUTLET_WALL_CLOCK_H

/// Moves the wall clock of this process by a number of seconds, backwards if it is negative.
///
/// The monotonic clock does not change. In a test that links this library, its clock_gettime() and
/// time() replace the system's for the whole process, so call it only in a process that runs a
/// single test.
void shift_wall_clock(long seconds);

#endif

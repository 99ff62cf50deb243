#ifndef OUTLET_LOOKUP_H
#define OUTLET_LOOKUP_H

/// A name service that takes its time.
///
/// Linked into the tests, this library's getaddrinfo() takes the place of the system's for
/// everything in the process, libcurl included. Names that end in ".slow.test" are handed to
/// `observer`, which may block as long as it likes, and are not found after that; all others go on
/// to the system's own.
typedef void (*lookup_observer)(const char *name);

/// Sets who is told of slow names; without one they are not found at once. Any thread.
void observe_slow_lookups(lookup_observer observer);

#endif

#ifndef OUTLET_LOOKUP_H
#define OUTLET_LOOKUP_H

/// A name service that takes its time.
///
/// Linked into the tests, this library's getaddrinfo() takes the place of the system's for
/// everything in the process, libcurl included:
///
/// - Names that end in ".slow.test" are handed to `observer`, which may block as long as it likes,
///   and are not found after that.
/// - `ANYTHING.slow-MS.loopback.test` is 127.0.0.1, after MS milliseconds.
/// - `ANYTHING.slow-MS.nowhere.test` is not known for now (EAI_AGAIN), after MS milliseconds.
/// - Names that end in ".listed.test" have the addresses that `addresses` says.
/// - All others go on to the system's own.
typedef void (*lookup_observer)(const char *name);

/// Sets the function that is called for slow names; without one they are not found at once. Any thread.
void observe_slow_lookups(lookup_observer observer);

/// Says which addresses a name has: separated by blanks, allocated with malloc(); NULL for none.
typedef char *(*lookup_addresses)(const char *name);

/// Sets who says the addresses of listed names; without it they are not found. Any thread.
void list_addresses(lookup_addresses addresses);

/// How many look-ups of names with a time in them have ended. Any thread.
long late_lookups(void);

#endif

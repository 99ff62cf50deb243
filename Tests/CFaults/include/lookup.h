#ifndef OUTLET_LOOKUP_H
#define OUTLET_LOOKUP_H

/// A getaddrinfo() that tests can delay and whose addresses tests can choose.
///
/// In a test that links this library, it replaces the system's getaddrinfo() for the whole process,
/// libcurl included:
///
/// - `ANYTHING.slow.test` calls the observer, which may block for any time, and then fails with
///   EAI_NONAME.
/// - `ANYTHING.slow-MS.loopback.test` waits MS milliseconds and returns 127.0.0.1.
/// - `ANYTHING.slow-MS.nowhere.test` waits MS milliseconds and fails with EAI_AGAIN.
/// - `ANYTHING.listed.test` returns the addresses that the `lookup_addresses` function returns.
/// - Any other name is looked up with the system's getaddrinfo().
typedef void (*lookup_observer)(const char *name);

/// Sets the observer of names in ".slow.test"; without one, their lookup fails at once. Any thread.
void observe_slow_lookups(lookup_observer observer);

/// Returns the addresses of a name, separated by blanks; NULL if the name has none.
///
/// The text must be allocated with malloc(); the caller frees it.
typedef char *(*lookup_addresses)(const char *name);

/// Sets the function that returns the addresses of names in ".listed.test"; without one, their
/// lookup fails. Any thread.
void list_addresses(lookup_addresses addresses);

/// Returns the number of completed lookups of names with "slow-MS". Any thread.
long late_lookups(void);

#endif

#ifndef OUTLET_SLOW_RESOLVER_H
#define OUTLET_SLOW_RESOLVER_H

/// What a program that links this target finds in place of the system's `getaddrinfo`.
///
/// - `ANYTHING.slow-MS.loopback.test` is 127.0.0.1, after MS milliseconds.
/// - `ANYTHING.slow-MS.nowhere.test` is not known for now (EAI_AGAIN), after MS milliseconds.
/// - Every other name is the system's business.
///
/// Returns how many lookups of such names have ended.
long slow_lookups(void);

#endif

/// Calls of hooks that follow one another on a thread, with no other work between them.
///
/// Each begins when the one before it has ended, so that the clock is read once for each: 5 % of
/// the CPU time of a request with ten plugins (`Benchmarks/tricks call-sequence`).
struct CallSequence {
    private var end: UInt64?

    /// Returns when the next call begins: now, in nanoseconds of the monotonic clock.
    mutating func begin() -> UInt64 { end.take() ?? Stopwatch.now }

    /// Notes when the last call ended, in nanoseconds of the monotonic clock.
    mutating func didEnd(at time: UInt64) { end = time }

    /// Notes that other work has followed, such as that of an observer.
    mutating func interrupt() { end = nil }
}

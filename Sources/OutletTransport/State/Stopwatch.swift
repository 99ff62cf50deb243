import Glibc

/// Measures how long something takes.
package struct Stopwatch {
    private let start = Self.nanoseconds

    package init() {}

    /// The time since it was made, in seconds.
    package var seconds: Double { Double(Self.nanoseconds - start) / 1e9 }

    /// Not through Dispatch, whose way to the same clock is longer.
    private static var nanoseconds: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }
}

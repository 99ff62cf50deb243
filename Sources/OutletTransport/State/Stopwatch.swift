import Glibc

/// Measures elapsed time (`CLOCK_MONOTONIC`).
package struct Stopwatch {
    private let start = Self.nanoseconds

    package init() {}

    /// The time since the stopwatch was made, in seconds.
    package var seconds: Double { Double(Self.nanoseconds - start) / 1e9 }

    /// Reads the clock directly, because `DispatchTime.now()` is slower.
    private static var nanoseconds: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }
}

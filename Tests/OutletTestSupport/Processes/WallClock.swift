internal import CFaults

/// The wall clock (`CLOCK_REALTIME`), as this process sees it.
public enum WallClock {
    /// Moves the clock by a number of seconds, which may be negative.
    ///
    /// Only for processes that run one test: the clock of the whole process changes.
    public static func shift(seconds: Int) {
        shift_wall_clock(seconds)
    }
}

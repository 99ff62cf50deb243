internal import CFaults

/// The clock that people set, as this process sees it.
public enum WallClock {
    /// Puts it forward, or back; for processes that run one test alone.
    public static func shift(seconds: Int) {
        shift_wall_clock(seconds)
    }
}

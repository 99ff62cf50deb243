import COutletPlugin

/// Limits how many lines a plugin logs; a value without lock or clock.
///
/// Each level has a limit of its own, so that many details hide no errors. After the limit is reached,
/// lines are left out until a second's worth of them is allowed again.
struct LogLimit: Sendable, Equatable {
    /// What happens to a line.
    enum Verdict: Equatable {
        /// It is logged, after `leftOut` others of its level that were not; 0 for none.
        case logged(leftOut: Int)
        /// It is not logged; `isFirst` if it is the first one of its level ever.
        case leftOut(isFirst: Bool)
    }

    /// The state of one level.
    private struct Level: Equatable {
        var available = LogLimit.maximumCount
        /// The time until which the lines that are allowed again were added, in nanoseconds.
        var filledUntil: UInt64 = 0
        var leftOut = 0
        var hasLeftOut = false
    }

    /// The number of lines at once.
    static let maximumCount = Int(OUTLET_MAX_LOG_LINES)
    /// The number of lines in each second after those.
    static let countPerSecond = Int(OUTLET_LOG_LINES_PER_SECOND)
    /// The time after which another line is allowed, in nanoseconds.
    private static let interval = 1_000_000_000 / UInt64(countPerSecond)

    /// Parallel to the levels.
    private var levels = [Level](repeating: Level(), count: PluginLogLine.Level.allCases.count)

    /// Counts a line.
    ///
    /// - Parameters:
    ///   - level: Its level.
    ///   - time: The time in nanoseconds; never before that of an earlier call.
    mutating func admit(_ level: PluginLogLine.Level, at time: UInt64) -> Verdict {
        let index = Int(level.rawValue)
        var state = levels[index]
        defer { levels[index] = state }
        let added = time > state.filledUntil ? (time - state.filledUntil) / Self.interval : 0
        state.filledUntil += added * Self.interval
        state.available += Int(min(added, UInt64(Self.maximumCount - state.available)))
        let needed = state.leftOut > 0 ? Self.countPerSecond : 1
        guard state.available >= needed else {
            state.leftOut += 1
            defer { state.hasLeftOut = true }
            return .leftOut(isFirst: !state.hasLeftOut)
        }
        state.available -= 1
        defer { state.leftOut = 0 }
        return .logged(leftOut: state.leftOut)
    }

    /// Removes and returns the number of lines that were left out since the last one that was logged,
    /// for each level that has any.
    mutating func takeLeftOut() -> [(level: PluginLogLine.Level, count: Int)] {
        var counts: [(level: PluginLogLine.Level, count: Int)] = []
        for level in PluginLogLine.Level.allCases {
            let count = levels[Int(level.rawValue)].leftOut
            guard count > 0 else { continue }
            counts.append((level, count))
            levels[Int(level.rawValue)].leftOut = 0
        }
        return counts
    }
}

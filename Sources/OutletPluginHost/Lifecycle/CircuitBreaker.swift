/// Suspends a plugin after too many contract violations; a value without lock or clock.
///
/// A fault is a contract violation, such as a missed deadline; a hook that returns an error is
/// none. After the pause the plugin is called again, and one more fault within the window suspends
/// it again.
struct CircuitBreaker: Sendable, Equatable {
    /// When a plugin is suspended, and for how long.
    struct Rules: Sendable, Equatable {
        /// The number of faults within the window that suspends the plugin; 0 for never.
        var maximumFaults: Int
        /// The period in which faults are counted, in nanoseconds.
        var window: UInt64
        /// How long the plugin stays suspended, in nanoseconds.
        var pause: UInt64
    }

    private let rules: Rules
    /// The times of recent faults, the oldest first; fewer than the maximum.
    private var faults: [UInt64] = []
    /// When the suspension ends, in nanoseconds; 0 if there was none.
    private(set) var opensAgain: UInt64 = 0

    init(_ rules: Rules) { self.rules = rules }

    /// Whether the plugin may be called at this time.
    func admits(at time: UInt64) -> Bool { time >= opensAgain }

    /// Records a fault.
    ///
    /// - Returns: Whether this fault suspends the plugin.
    mutating func fault(at time: UInt64) -> Bool {
        guard rules.maximumFaults > 0, admits(at: time) else { return false }
        faults.removeAll { $0.adding(rules.window) < time }
        faults.append(time)
        guard faults.count >= rules.maximumFaults else { return false }
        opensAgain = time.adding(rules.pause)
        // After the pause a single fault is enough: the earlier ones count as if they had just
        // happened.
        faults = Array(repeating: opensAgain, count: rules.maximumFaults - 1)
        return true
    }
}

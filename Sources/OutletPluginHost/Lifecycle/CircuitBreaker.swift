/// Keeps a plugin from being called that has failed its contract too often, as a value: no lock, no clock.
///
/// Faults are missed deadlines and what else a plugin does against the contract; a hook that says no is none.
/// After a pause the plugin is called again; one more fault within the window, and it rests once more.
struct CircuitBreaker: Sendable, Equatable {
    /// When a plugin is left alone, and for how long.
    struct Rules: Sendable, Equatable {
        /// How many faults within the window are too many; 0 for any number.
        var maximumFaults: Int
        /// In nanoseconds.
        var window: UInt64
        /// In nanoseconds.
        var pause: UInt64
    }

    private let rules: Rules
    /// When the last faults were, the oldest first; fewer than the maximum.
    private var faults: [UInt64] = []
    /// When the plugin is called again; 0 where it is called.
    private(set) var opensAgain: UInt64 = 0

    init(_ rules: Rules) { self.rules = rules }

    /// Whether the plugin may be called now.
    func admits(at time: UInt64) -> Bool { time >= opensAgain }

    /// A fault.
    ///
    /// - Returns: Whether the plugin is left alone from now on.
    mutating func fault(at time: UInt64) -> Bool {
        guard rules.maximumFaults > 0, admits(at: time) else { return false }
        faults.removeAll { $0 &+ rules.window < time }
        faults.append(time)
        guard faults.count >= rules.maximumFaults else { return false }
        opensAgain = time &+ rules.pause
        // On probation behind the pause: the others count on, as if they had just been.
        faults = Array(repeating: opensAgain, count: rules.maximumFaults - 1)
        return true
    }
}

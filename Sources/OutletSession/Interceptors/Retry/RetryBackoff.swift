public import FoundationEssentials

/// How the wait before a retry grows, as a value.
public struct RetryBackoff: Sendable, Equatable {
    /// How much of the wait is left to chance, so that clients do not come back all at once.
    public enum Jitter: Sendable, Equatable {
        /// Nothing.
        case none
        /// Half of it.
        case equal
        /// All of it.
        case full
    }

    /// The factor from one wait to the next; at least 2, smaller values count as 2.
    public let base: UInt
    /// The first wait, in seconds.
    public let scale: TimeInterval
    /// The longest wait, in seconds; growth stops here.
    public let maximumDelay: TimeInterval
    /// What chance takes off.
    public let jitter: Jitter

    /// Makes a backoff.
    public init(
        base: UInt = 2, scale: TimeInterval = 0.5, maximumDelay: TimeInterval = .infinity,
        jitter: Jitter = .none
    ) {
        self.base = max(2, base)
        self.scale = scale
        self.maximumDelay = maximumDelay
        self.jitter = jitter
    }

    /// The wait before a retry, in seconds: `scale × base^retryCount`, capped, then jittered.
    ///
    /// - Parameters:
    ///   - retryCount: How many retries came before; 0 before the first.
    ///   - generator: Rolls the dice, if any.
    public func delay(
        retryCount: Int, using generator: inout some RandomNumberGenerator
    ) -> TimeInterval {
        var delay = scale
        for _ in 0..<max(0, retryCount) where delay > 0 && delay < maximumDelay {
            delay *= TimeInterval(base)
        }
        delay = max(0, min(delay, maximumDelay))
        guard delay.isFinite else { return .greatestFiniteMagnitude }
        return switch jitter {
        case .none: delay
        case .equal: delay / 2 * (1 + .random(in: 0..<1, using: &generator))
        case .full: delay * .random(in: 0..<1, using: &generator)
        }
    }
}

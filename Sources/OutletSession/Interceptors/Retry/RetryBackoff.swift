public import FoundationEssentials

/// Computes the delay before each retry, which grows exponentially.
public struct RetryBackoff: Sendable, Equatable {
    /// The random part of the delay, so that clients do not all retry at the same time.
    public enum Jitter: Sendable, Equatable {
        /// The whole delay is fixed.
        case none
        /// Between half of the delay and all of it.
        case equal
        /// Between 0 and the delay.
        case full
    }

    /// The factor from one delay to the next; at least 2, smaller values count as 2.
    public let base: UInt
    /// The first delay in seconds.
    public let scale: TimeInterval
    /// The longest delay in seconds.
    public let maximumDelay: TimeInterval
    /// The random part of the delay.
    public let jitter: Jitter

    /// Makes a backoff.
    ///
    /// - Parameters:
    ///   - base: The factor from one delay to the next; less than 2 counts as 2.
    ///   - scale: The first delay in seconds.
    ///   - maximumDelay: The longest delay in seconds; unlimited by default.
    ///   - jitter: The random part of the delay; none by default.
    public init(
        base: UInt = 2, scale: TimeInterval = 0.5, maximumDelay: TimeInterval = .infinity,
        jitter: Jitter = .none
    ) {
        self.base = max(2, base)
        self.scale = scale
        self.maximumDelay = maximumDelay
        self.jitter = jitter
    }

    /// Returns the delay before a retry in seconds: `scale × base^retryCount`, at most
    /// ``maximumDelay``, then with ``jitter``.
    ///
    /// - Parameters:
    ///   - retryCount: The number of earlier retries; 0 before the first.
    ///   - generator: The source of random numbers for ``jitter``.
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

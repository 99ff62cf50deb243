/// When to send again, as a value: no clock, no host.
struct Pace: Equatable {
    /// How many attempts a request gets in all.
    var maximumAttempts: Int
    /// The wait after the first failure.
    var baseDelay: Duration
    /// The longest wait; doubling stops here.
    var maximumDelay: Duration

    /// The wait before the next attempt; `nil` when there is to be none.
    ///
    /// - Parameters:
    ///   - attempt: How many attempts were made; at least 1.
    ///   - status: The response's status; `nil` when the transport failed.
    ///   - retryAfter: The server's wish, in seconds.
    func delay(afterAttempt attempt: Int, status: Int?, retryAfter: Int?) -> Duration? {
        guard attempt < maximumAttempts else { return nil }
        if let status, status < 500, status != 408, status != 429 { return nil }
        if let retryAfter, retryAfter >= 0 {
            let wish = Duration.seconds(retryAfter)
            return wish <= maximumDelay ? wish : nil
        }
        var delay = baseDelay
        for _ in 1..<attempt where delay < maximumDelay { delay *= 2 }
        return min(delay, maximumDelay)
    }

    /// Whether repeating a request has the effect of sending it once (RFC 9110 §9.2.2).
    static func isIdempotent(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"].contains(method)
    }
}

/// The delays between attempts, as a value without a clock and a host.
struct Pace: Equatable {
    /// The maximum number of attempts of a request, the first one included.
    var maximumAttempts: Int
    /// The delay after the first failure.
    var baseDelay: Duration
    /// The longest delay.
    var maximumDelay: Duration

    /// Returns the delay before the next attempt; `nil` if there is to be none.
    ///
    /// - Parameters:
    ///   - attempt: The number of attempts so far; at least 1.
    ///   - status: The response's status; `nil` if the transfer failed.
    ///   - retryAfter: The delay that the server requests, in seconds; `nil` if there is none.
    func delay(afterAttempt attempt: Int, status: Int?, retryAfter: Int?) -> Duration? {
        guard attempt < maximumAttempts else { return nil }
        if let status, status < 500, status != 408, status != 429 { return nil }
        if let retryAfter, retryAfter >= 0 {
            let requested = Duration.seconds(retryAfter)
            return requested <= maximumDelay ? requested : nil
        }
        var delay = baseDelay
        var doublings = attempt - 1
        while doublings > 0, delay > .zero, delay < maximumDelay {
            delay *= 2
            doublings -= 1
        }
        return min(delay, maximumDelay)
    }

    /// Whether sending a request several times has the same effect as sending it once (RFC 9110
    /// §9.2.2).
    static func isIdempotent(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"].contains(method)
    }
}

import FoundationEssentials
import OutletHTTP

/// What `Retry-After` says (RFC 9110 §10.2.3).
enum RetryAfter {
    /// The wait that a response asks for, in seconds, never negative; `nil` without a valid one.
    ///
    /// A date is compared with the server's own `Date`, so that a wrong clock here or there
    /// does not matter, and with `now` only where the server sends none.
    static func delay(in response: HTTPResponse, now: Date) -> TimeInterval? {
        guard let field = response.headers.values(for: "Retry-After").first else { return nil }
        let value = field.trimmingBlanks
        if let seconds = value.clampedDecimal(Int64.self) { return TimeInterval(seconds) }
        guard let date = HTTPDate.parse(String(value)) else { return nil }
        let sent = response.headers.values(for: "Date").first.flatMap(HTTPDate.parse)
        return max(0, date.timeIntervalSince(sent ?? now))
    }
}

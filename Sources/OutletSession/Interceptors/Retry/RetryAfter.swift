import FoundationEssentials
import OutletHTTP

/// Parses the header field `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// Returns the delay before a retry, in seconds, at least 0; `nil` without a valid field.
    ///
    /// A date is compared with the `Date` of the response, so that a wrong clock of the client or
    /// the server does not matter. It is compared with `now` only if the response has no valid
    /// `Date`.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - now: The current time of the client.
    static func delay(in response: HTTPResponse, now: Date) -> TimeInterval? {
        guard let field = response.headers.values(for: "Retry-After").first else { return nil }
        let value = field.trimmingBlanks
        if let seconds = value.clampedDecimal(Int64.self) { return TimeInterval(seconds) }
        guard let date = HTTPDate.parse(String(value)) else { return nil }
        let sent = response.headers.values(for: "Date").first.flatMap(HTTPDate.parse)
        return max(0, date.timeIntervalSince(sent ?? now))
    }
}

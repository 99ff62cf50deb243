import OutletHTTP

/// The `Cache-Control` directives that a private cache uses (RFC 9111 §5.2, RFC 5861).
///
/// Times are in seconds. `s-maxage` and `proxy-revalidate` are for shared caches and ignored.
struct CacheControl: Sendable, Equatable {
    var noStore = false
    /// Also set by `no-cache` with field names: the restriction is applied to the whole response.
    var noCache = false
    var mustRevalidate = false
    var isPublic = false
    /// The smallest value if there are several; 0 for an invalid number, so that the response is
    /// stale (RFC 9111 §4.2.1).
    var maxAge: Int?
    var staleWhileRevalidate: Int?
    var staleIfError: Int?
    /// In requests: how stale the response may be; `Int.max` without a number.
    var maxStale: Int?
    /// In requests: how long the response must remain fresh.
    var minFresh: Int?
    /// In requests: whether the request must not be sent to the server.
    var onlyIfCached = false

    init() {}

    /// Parses all `Cache-Control` fields; without any, `Pragma: no-cache` (RFC 9111 §5.4).
    init(_ headers: HTTPHeaders) {
        let values = headers.values(for: "Cache-Control")
        for value in values { read(value) }
        guard values.isEmpty else { return }
        for value in headers.values(for: "Pragma") {
            if value.listItems().contains(where: { $0.equalsIgnoringCase("no-cache") }) {
                noCache = true
            }
        }
    }

    private mutating func read(_ text: String) {
        for directive in text.listItems() {
            var scanner = ByteScanner(directive)
            let (name, value) = scanner.readParameter()
            switch name.lowercasedASCII {
            case "no-store": noStore = true
            case "no-cache": noCache = true
            case "must-revalidate": mustRevalidate = true
            case "public": isPublic = true
            case "only-if-cached": onlyIfCached = true
            case "max-age": maxAge = min(maxAge ?? .max, Self.seconds(value) ?? 0)
            case "max-stale": maxStale = value == nil ? .max : Self.seconds(value) ?? 0
            case "min-fresh": minFresh = Self.seconds(value)
            case "stale-while-revalidate": staleWhileRevalidate = Self.seconds(value)
            case "stale-if-error": staleIfError = Self.seconds(value)
            default: break
            }
        }
    }

    /// Parses delta-seconds (RFC 9111 §1.2.2), with or without quotes; larger values count as 2³¹.
    private static func seconds(_ text: String?) -> Int? {
        text?.clampedDecimal().map { min($0, 1 << 31) }
    }
}

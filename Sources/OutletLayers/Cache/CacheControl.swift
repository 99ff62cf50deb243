import OutletHTTP

/// The directives of `Cache-Control` fields that a private cache heeds (RFC 9111 §5.2, RFC 5861).
///
/// Times are seconds. `s-maxage` and `proxy-revalidate` are for shared caches.
struct CacheControl: Sendable, Equatable {
    var noStore = false
    /// Also with field names: a restriction of some fields is applied to the whole response.
    var noCache = false
    var mustRevalidate = false
    var isPublic = false
    /// The smallest of several; 0 for an invalid number, so that the response counts as stale
    /// (§4.2.1).
    var maxAge: Int?
    var staleWhileRevalidate: Int?
    var staleIfError: Int?
    /// Of a request: how stale the answer may be; `Int.max` without a number.
    var maxStale: Int?
    /// Of a request: how long the answer must stay fresh.
    var minFresh: Int?
    /// Of a request: the server is not to be asked.
    var onlyIfCached = false

    init() {}

    /// Reads all `Cache-Control` fields; without any, `Pragma: no-cache` (§5.4).
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

    /// Delta-seconds (§1.2.2), quoted or not; larger values count as 2³¹.
    private static func seconds(_ text: String?) -> Int? {
        text?.clampedDecimal().map { min($0, 1 << 31) }
    }
}

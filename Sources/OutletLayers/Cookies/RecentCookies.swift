import FoundationEssentials
import OutletHTTP

/// The cookies of the most recent different `Set-Cookie` fields.
///
/// Servers set the same few cookies in every response, and parsing takes most of the time that such
/// a cookie costs (`Benchmarks/count cookie`).
struct RecentCookies: Sendable {
    private struct Entry: Sendable {
        let field: String
        let origin: Origin
        /// The URL of the request, if the cookie's path depends on it; otherwise `nil`.
        let url: URL?
        let parsed: SetCookie
        let cookie: Cookie
    }

    private static let limit = 8
    private var entries: [Entry] = []
    /// The index of the entry that is replaced next.
    private var oldest = 0

    /// Returns the cookie that a field sets; `nil` if the URL may not set it.
    mutating func cookie(
        of field: String, from url: URL, _ origin: Origin, now: Date
    ) -> Cookie? {
        let known = entries.first {
            $0.field.hasSameBytes(as: field) && $0.origin == origin
                && ($0.url == nil || $0.url == url)
        }
        if let known {
            var cookie = known.cookie
            cookie.creationDate = now
            cookie.expiresDate = known.parsed.end(now)
            return cookie
        }
        guard let parsed = SetCookie(field),
            let cookie = parsed.cookie(from: url, of: origin, now: now)
        else { return nil }
        let dependsOnPath = parsed.path?.startsWithBytes(of: "/") != true
        keep(
            Entry(
                field: field, origin: origin, url: dependsOnPath ? url : nil, parsed: parsed,
                cookie: cookie))
        return cookie
    }

    private mutating func keep(_ entry: Entry) {
        guard entries.count == Self.limit else { return entries.append(entry) }
        entries[oldest] = entry
        oldest = (oldest + 1) % Self.limit
    }
}

import FoundationEssentials
import OutletHTTP

/// The cookies of the last different `Set-Cookie` fields.
///
/// Servers set the same few with every answer, and taking a field apart costs most of what such a
/// cookie costs (`Benchmarks/count cookie`).
struct RecentCookies: Sendable {
    private struct Entry: Sendable {
        let field: String
        let origin: Origin
        /// The address that set it, where the cookie's path depends on it.
        let url: URL?
        let parsed: SetCookie
        let cookie: Cookie
    }

    private static let limit = 8
    private var entries: [Entry] = []
    /// Which entry gives way to the next one.
    private var oldest = 0

    /// The cookie that a field sets, if the address may set it.
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

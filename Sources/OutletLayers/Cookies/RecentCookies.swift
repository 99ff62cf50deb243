import FoundationEssentials
import Glibc
import OutletHTTP

/// The cookies of the most recent different `Set-Cookie` fields.
///
/// Servers set the same few cookies in every response. A field that changes nothing is recognised
/// by its bytes, and one that comes again is not parsed again: that saves 28,900 instructions of a
/// request (`Benchmarks/count cookie`).
struct RecentCookies: Sendable {
    /// A cookie and what its place in a jar depends on.
    private struct Parsed: Sendable {
        let cookie: Cookie
        let field: SetCookie
        let isSecure: Bool

        /// Parses a field; `nil` if it must be ignored, or if the URL may not set the cookie.
        init?(_ text: UnsafeBufferPointer<UInt8>, from url: URL, now: Date) {
            guard let origin = try? Origin(url),
                let field = SetCookie(HTTPHeader("Set-Cookie", ofReceived: text)),
                let cookie = field.cookie(from: url, of: origin, now: now)
            else { return nil }
            self.cookie = cookie
            self.field = field
            isSecure = CookieStorage.isTrustworthy(origin)
        }

        func cookie(now: Date) -> Cookie {
            var cookie = cookie
            cookie.creationDate = now
            cookie.expiresDate = field.end(now)
            return cookie
        }
    }

    private struct Entry: Sendable {
        let field: [UInt8]
        let scope: AddressScope
        let parsed: Boxed<Parsed>
        /// The jar's ``CookieJar/changes`` when the field was found to change nothing.
        var idleSince: Int?
        /// The last URL that the scope contains: most fields come from a copy of it.
        var lastURL: URL

        func isFor(_ field: UnsafeBufferPointer<UInt8>, _ url: URL) -> Bool {
            guard self.field.count == field.count, let start = field.baseAddress else {
                return false
            }
            return memcmp(self.field, start, field.count) == 0
                && (haveSameBits(lastURL, url) || scope.contains(url.absoluteString))
        }
    }

    private static let limit = 8
    /// The maximum length of a remembered field in bytes.
    private static let longest = 4096
    private var entries: [Entry] = []
    /// The index of the entry that is replaced next.
    private var oldest = 0

    /// Stores the cookie of a `Set-Cookie` field in a jar, if the URL may set it.
    ///
    /// - Parameters:
    ///   - field: The field's value as received.
    ///   - url: The URL of the request.
    ///   - jar: The jar.
    ///   - now: The current time.
    mutating func set(
        _ field: UnsafeBufferPointer<UInt8>, from url: URL, in jar: inout CookieJar,
        now: @autoclosure () -> Date
    ) {
        let known = entries.firstIndex { $0.isFor(field, url) }
        if let known, entries[known].idleSince == jar.changes { return }
        let now = now()
        let parsed = known.map { entries[$0].parsed.value } ?? Parsed(field, from: url, now: now)
        guard let parsed else { return }
        let cookie = parsed.cookie(now: now)
        let before = jar.changes
        let isAccepted = jar.set(cookie, isSecure: parsed.isSecure, now: now)
        guard let known else { return keep(parsed, of: field, url) }
        entries[known].lastURL = url
        let isIdle = isAccepted && jar.changes == before && cookie.isSessionOnly
        entries[known].idleSince = isIdle ? before : nil
    }

    private mutating func keep(
        _ parsed: Parsed, of field: UnsafeBufferPointer<UInt8>, _ url: URL
    ) {
        let dependsOnPath = parsed.field.path?.startsWithBytes(of: "/") != true
        guard field.count <= Self.longest,
            let scope = AddressScope(url.absoluteString, dependsOnPath: dependsOnPath)
        else { return }
        let entry = Entry(
            field: Array(field), scope: scope, parsed: Boxed(parsed), lastURL: url)
        guard entries.count == Self.limit else { return entries.append(entry) }
        entries[oldest] = entry
        oldest = (oldest + 1) % Self.limit
    }
}

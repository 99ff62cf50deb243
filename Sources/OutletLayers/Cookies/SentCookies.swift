import FoundationEssentials
import OutletHTTP

/// The cookies of the most recent requests, as long as the jar does not change.
///
/// Most requests of a session send the same cookies, and often the same fields, as one before: that
/// saves 26,500 instructions of a request (`Benchmarks/count cookie`).
struct SentCookies: Sendable {
    private struct Entry: Sendable {
        let scope: AddressScope
        let cookies: [Cookie]
        /// The time when the first of the cookies expires; `nil` if none does.
        let end: Date?
        /// The fields of the last request, and these with the cookies.
        var last: (own: HTTPHeaders, all: HTTPHeaders?)?
    }

    private static let limit = 4
    private var entries: [Entry] = []
    /// The index of the entry that is replaced next.
    private var oldest = 0
    /// The jar's ``CookieJar/changes`` that the entries reflect.
    private var changes = 0

    /// The last request, and the same with its cookies.
    private struct Last: Sendable {
        let own: HTTPRequest
        let all: HTTPRequest
        /// The time when the first of the cookies expires; `nil` if none does.
        let end: Date?
    }
    private var last: Last?

    /// Returns a request with the cookies that are sent to its URL; `nil` if there are none to add.
    ///
    /// - Parameters:
    ///   - own: The request.
    ///   - jar: The stored cookies; those that are looked up count as used.
    ///   - now: The current time.
    mutating func request(
        _ own: HTTPRequest, from jar: inout CookieJar, now: @autoclosure () -> Date
    ) -> HTTPRequest? {
        if changes == jar.changes, let last, last.own.isCopy(of: own),
            last.end.map({ $0 > now() }) ?? true
        {
            return last.all
        }
        guard let url = own.url,
            let headers = headers(own.headers, for: url, from: &jar, now: now())
        else { return nil }
        var all = own
        all.headers = headers
        let address = url.absoluteString
        // A URL that may contain a password has no entry.
        if !own.hasBody, !own.hasContext,
            let entry = entries.first(where: { $0.scope.contains(address) })
        {
            last = Last(own: own, all: all, end: entry.end)
        }
        return all
    }

    /// Returns a request's fields with the cookies that are sent to its URL; `nil` if there are
    /// none to add.
    ///
    /// - Parameters:
    ///   - own: The request's own fields.
    ///   - url: The URL of the request.
    ///   - jar: The stored cookies; those that are looked up count as used.
    ///   - now: The current time.
    mutating func headers(
        _ own: HTTPHeaders, for url: URL, from jar: inout CookieJar, now: @autoclosure () -> Date
    ) -> HTTPHeaders? {
        if changes != jar.changes {
            last = nil
            entries = []
            oldest = 0
            changes = jar.changes
        }
        let address = url.absoluteString
        guard let index = entries.firstIndex(where: { $0.scope.contains(address) }) else {
            return add(own, address, url, &jar, now())
        }
        if let end = entries[index].end, end <= now() {
            entries = []
            oldest = 0
            return add(own, address, url, &jar, now())
        }
        if let last = entries[index].last, last.own.isSame(as: own) { return last.all }
        let all = own.adding(entries[index].cookies)
        entries[index].last = (own, all)
        return all
    }

    /// Finds the cookies in the jar, and remembers them.
    private mutating func add(
        _ own: HTTPHeaders, _ address: String, _ url: URL, _ jar: inout CookieJar, _ now: Date
    ) -> HTTPHeaders? {
        guard let origin = try? Origin(url) else { return nil }
        let cookies = jar.cookies(
            host: origin.host, path: url.wirePath, isSecure: CookieStorage.isTrustworthy(origin),
            now: now)
        let all = own.adding(cookies)
        let scope = AddressScope(address, dependsOnPath: jar.dependsOnPath(host: origin.host))
        if let scope {
            let entry = Entry(
                scope: scope, cookies: cookies, end: cookies.compactMap(\.expiresDate).min(),
                last: (own, all))
            if entries.count < Self.limit {
                entries.append(entry)
            } else {
                entries[oldest] = entry
                oldest = (oldest + 1) % Self.limit
            }
        }
        return all
    }
}

extension HTTPHeaders {
    /// The request's own `Cookie` field; the values of repeated fields are joined with `"; "` (RFC
    /// 9113 §8.2.3).
    private var ownCookies: HTTPHeader? {
        let own = filter { $0.name.equalsIgnoringCase("Cookie") }.map(\.valueBytes)
            .filter { !$0.isEmpty }
        guard !own.isEmpty else { return nil }
        return HTTPHeader(name: "Cookie", valueBytes: own.joined(separator: "; ".utf8))
    }

    /// Returns the fields with stored cookies after the request's own ones, all in one `Cookie`
    /// field (RFC 6265 §5.4); `nil` if none are added.
    ///
    /// Stored cookies with the name of one of the request's own are not added.
    fileprivate func adding(_ stored: [Cookie]) -> HTTPHeaders? {
        guard !stored.isEmpty else { return nil }
        var pairs = stored.map(\.pairBytes)
        if let own = ownCookies {
            let ownNames = own.value.parts(separatedBy: ";").map { pair -> Substring in
                pair.cut(at: "=").map { $0.head.trimmingBlanks } ?? ""
            }
            pairs = stored.filter { cookie in
                !ownNames.contains { $0.hasSameBytes(as: cookie.name) }
            }.map(\.pairBytes)
            guard !pairs.isEmpty else { return nil }
            pairs.insert(own.valueBytes, at: 0)
        }
        var headers = self
        headers.update(Cookie.cookieField(pairs))
        return headers
    }
}

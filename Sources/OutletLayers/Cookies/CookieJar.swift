import FoundationEssentials
import OutletHTTP

/// The cookies of a storage, by domain.
///
/// Not synchronized: the owner holds a lock.
struct CookieJar: Sendable {
    /// The maximum numbers of cookies, per domain and in total; both are above the minimums of RFC
    /// 6265 §6.1.
    private static let domainLimit = 180
    private static let limit = 3300

    private var domains: [String: [Cookie]] = [:]
    private(set) var count = 0
    /// The number of changes after which other cookies may be sent, or fields have other effects.
    ///
    /// A later end of a cookie that has not ended does not count.
    private(set) var changes = 0

    var isEmpty: Bool { count == 0 }

    func cookies(now: Date) -> [Cookie] {
        domains.values.joined().filter { !$0.hasEnded(now) }
            .sorted { ($0.domain, $0.path, $0.name) < ($1.domain, $1.path, $1.name) }
    }

    /// Returns the cookies to send: longer paths first, then older cookies (RFC 6265 §5.4).
    func cookies(host: String, path: String, isSecure: Bool, now: Date) -> [Cookie] {
        let found = candidates(host: host).filter { cookie in
            cookie.isFor(path: path) && (!cookie.isSecure || isSecure) && !cookie.hasEnded(now)
        }
        return found.count < 2
            ? found
            : found.sorted {
                ($1.path.utf8.count, $0.creationDate) < ($0.path.utf8.count, $1.creationDate)
            }
    }

    /// Whether a host's cookies are sent only to some of its paths.
    func dependsOnPath(host: String) -> Bool {
        candidates(host: host).contains { !$0.path.hasSameBytes(as: "/") }
    }

    /// The cookies that are sent to a host, or to some paths of it.
    private func candidates(host: String) -> [Cookie] {
        var found: [Cookie] = []
        var domain = host[...]
        // An IP address has no parent domains.
        let isAddress = Origin.isAddress(host)
        while !domain.isEmpty {
            found += (domains[String(domain)] ?? []).filter { $0.isFor(host: host) }
            guard !isAddress, let parent = domain.cut(at: ".")?.tail else { break }
            domain = parent
        }
        return found
    }

    /// Stores a cookie; replaces the former one with the same name, domain and path.
    ///
    /// An expired cookie only removes the former one.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - isSecure: Whether it was received over a secure connection; otherwise it cannot replace
    ///     or hide a secure cookie (RFC 6265bis §5.7).
    ///   - now: The current time.
    mutating func set(_ cookie: Cookie, isSecure: Bool, now: Date) {
        var cookie = cookie
        if !isSecure, !cookie.isSecure, hidesSecure(cookie, now) { return }
        if let index = index(of: cookie), let old = domains[cookie.domain]?[index] {
            guard !cookie.hasEnded(now) else {
                remove(cookie)
                return
            }
            if cookie.isSame(as: old) { return }
            if !old.hasEnded(now) { cookie.creationDate = old.creationDate }
            if !cookie.isProlonged(old, now) { changes += 1 }
            domains[cookie.domain]?[index] = cookie
            return
        }
        guard !cookie.hasEnded(now) else { return }
        changes += 1
        domains[cookie.domain, default: []].append(cookie)
        count += 1
        keepInBounds(cookie.domain, now)
    }

    mutating func remove(_ cookie: Cookie) {
        guard let index = index(of: cookie) else { return }
        changes += 1
        count -= 1
        domains[cookie.domain]?.remove(at: index)
        if domains[cookie.domain]?.isEmpty == true { domains[cookie.domain] = nil }
    }

    private func index(of cookie: Cookie) -> Int? {
        domains[cookie.domain]?.firstIndex {
            $0.name.hasSameBytes(as: cookie.name) && $0.path.hasSameBytes(as: cookie.path)
                && $0.isHostOnly == cookie.isHostOnly
        }
    }

    mutating func removeAll(where isUnwanted: (Cookie) -> Bool) {
        changes += 1
        for domain in domains.keys { domains[domain]?.removeAll(where: isUnwanted) }
        domains = domains.filter { !$0.value.isEmpty }
        count = domains.values.reduce(0) { $0 + $1.count }
    }

    private func hidesSecure(_ cookie: Cookie, _ now: Date) -> Bool {
        domains.values.contains { cookies in
            cookies.contains { other in
                other.isSecure && !other.hasEnded(now) && other.name.hasSameBytes(as: cookie.name)
                    && other.isFor(path: cookie.path)
                    && (other.isFor(host: cookie.domain) || cookie.isFor(host: other.domain))
            }
        }
    }

    /// Removes the oldest tenth of the cookies if there are too many.
    ///
    /// Removing only one would mean a search for each new cookie.
    private mutating func keepInBounds(_ domain: String, _ now: Date) {
        if let cookies = domains[domain], cookies.count > Self.domainLimit {
            let kept = Self.newest(Self.domainLimit * 9 / 10, of: cookies, now)
            count -= cookies.count - kept.count
            domains[domain] = kept
        }
        guard count > Self.limit else { return }
        let kept = Self.newest(Self.limit * 9 / 10, of: Array(domains.values.joined()), now)
        domains = Dictionary(grouping: kept, by: \.domain)
        count = kept.count
    }

    private static func newest(_ count: Int, of cookies: [Cookie], _ now: Date) -> [Cookie] {
        let current = cookies.filter { !$0.hasEnded(now) }
        guard current.count > count else { return current }
        return Array(current.sorted { $0.creationDate < $1.creationDate }.suffix(count))
    }
}

extension Cookie {
    fileprivate func hasEnded(_ now: Date) -> Bool { expiresDate.map { $0 <= now } ?? false }

    /// Whether the cookie differs from an older one, which has not ended, only by a later end.
    fileprivate func isProlonged(_ old: Cookie, _ now: Date) -> Bool {
        guard let end = expiresDate, let oldEnd = old.expiresDate, oldEnd > now, end >= oldEnd
        else { return false }
        var old = old
        old.expiresDate = end
        return isSame(as: old)
    }
}

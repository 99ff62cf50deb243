import FoundationEssentials
import OutletHTTP
import OutletPublicSuffix

/// The cookies of a storage, by domain.
///
/// Not synchronized: the owner holds a lock.
struct CookieJar: Sendable {
    /// The maximum numbers of cookies, per site and in total; both are above the minimums of RFC
    /// 6265 §6.1.
    ///
    /// Sites are counted, not domains: a server can set cookies for each domain above its own, up to
    /// the registered one, and may have any number of names below that.
    private static let siteLimit = 180
    private static let limit = 3300

    /// A cookie, and when it was last sent or set again; its creation date if it was not.
    private struct Stored: Sendable {
        var cookie: Cookie
        var lastUse: Date
    }

    private var domains: [String: [Stored]] = [:]
    private(set) var count = 0
    /// The number of changes after which other cookies may be sent, or fields have other effects.
    ///
    /// A later end of a cookie that has not ended does not count.
    private(set) var changes = 0

    var isEmpty: Bool { count == 0 }

    func cookies(now: Date) -> [Cookie] {
        domains.values.joined().lazy.map(\.cookie).filter { !$0.hasEnded(now) }
            .sorted { ($0.domain, $0.path, $0.name) < ($1.domain, $1.path, $1.name) }
    }

    /// Returns the cookies to send: longer paths first, then older cookies (RFC 6265 §5.4); they
    /// count as used.
    mutating func cookies(host: String, path: String, isSecure: Bool, now: Date) -> [Cookie] {
        var found: [Cookie] = []
        for domain in Self.domains(of: host) {
            for index in domains[domain]?.indices ?? 0..<0 {
                guard let cookie = domains[domain]?[index].cookie, cookie.isFor(host: host),
                    cookie.isFor(path: path), !cookie.isSecure || isSecure, !cookie.hasEnded(now)
                else { continue }
                domains[domain]?[index].lastUse = now
                found.append(cookie)
            }
        }
        return found.count < 2
            ? found
            : found.sorted {
                ($1.path.utf8.count, $0.creationDate) < ($0.path.utf8.count, $1.creationDate)
            }
    }

    /// Whether a host's cookies are sent only to some of its paths.
    func dependsOnPath(host: String) -> Bool {
        Self.domains(of: host).contains { domain in
            domains[domain]?.contains { stored in
                stored.cookie.isFor(host: host) && !stored.cookie.path.hasSameBytes(as: "/")
            } == true
        }
    }

    /// A host and its parent domains; only itself if it is an IP address.
    private static func domains(of host: String) -> [String] {
        guard !host.isEmpty else { return [] }
        var found = [host]
        guard !Origin.isAddress(host) else { return found }
        var domain = host[...]
        while let parent = domain.cut(at: ".")?.tail, !parent.isEmpty {
            found.append(String(parent))
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
    ///   - isSecure: Whether it was received over a secure connection; otherwise it cannot be a
    ///     secure cookie, nor replace or hide one (RFC 6265bis §5.7).
    ///   - now: The current time.
    /// - Returns: Whether the cookie was accepted; another one, which may end, can hide it.
    @discardableResult
    mutating func set(_ cookie: Cookie, isSecure: Bool, now: Date) -> Bool {
        if !isSecure, cookie.isSecure || hidesSecure(cookie, now) { return false }
        put(cookie, now)
        return true
    }

    private mutating func put(_ cookie: Cookie, _ now: Date) {
        var cookie = cookie
        if let index = index(of: cookie), let old = domains[cookie.domain]?[index].cookie {
            guard !cookie.hasEnded(now) else {
                remove(cookie)
                return
            }
            if cookie.isSame(as: old) {
                domains[cookie.domain]?[index].lastUse = now
                return
            }
            if !old.hasEnded(now) { cookie.creationDate = old.creationDate }
            if !cookie.isProlonged(old, now) { changes += 1 }
            domains[cookie.domain]?[index] = Stored(cookie: cookie, lastUse: now)
            return
        }
        guard !cookie.hasEnded(now) else { return }
        changes += 1
        domains[cookie.domain, default: []].append(
            Stored(cookie: cookie, lastUse: cookie.creationDate))
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
        domains[cookie.domain]?.lazy.map(\.cookie).firstIndex {
            $0.name.hasSameBytes(as: cookie.name) && $0.path.hasSameBytes(as: cookie.path)
                && $0.isHostOnly == cookie.isHostOnly
        }
    }

    mutating func removeAll(where isUnwanted: (Cookie) -> Bool) {
        changes += 1
        for domain in domains.keys { domains[domain]?.removeAll { isUnwanted($0.cookie) } }
        domains = domains.filter { !$0.value.isEmpty }
        count = domains.values.reduce(0) { $0 + $1.count }
    }

    private func hidesSecure(_ cookie: Cookie, _ now: Date) -> Bool {
        domains.values.contains { stored in
            stored.lazy.map(\.cookie).contains { other in
                other.isSecure && !other.hasEnded(now) && other.name.hasSameBytes(as: cookie.name)
                    && other.isFor(path: cookie.path)
                    && (other.isFor(host: cookie.domain) || cookie.isFor(host: other.domain))
            }
        }
    }

    /// Removes a tenth of the cookies if there are too many.
    ///
    /// Removing only one would mean a search for each new cookie.
    private mutating func keepInBounds(_ domain: String, _ now: Date) {
        guard count > Self.siteLimit else { return }
        let site = site(of: domain)
        let stored = site.flatMap { domains[$0] ?? [] }
        if stored.count > Self.siteLimit {
            let kept = Self.kept(Self.siteLimit, of: stored, now)
            count -= stored.count - kept.count
            for domain in site { domains[domain] = nil }
            domains.merge(Dictionary(grouping: kept, by: \.cookie.domain)) { $1 }
        }
        guard count > Self.limit else { return }
        let kept = Self.kept(Self.limit, of: Array(domains.values.joined()), now)
        domains = Dictionary(grouping: kept, by: \.cookie.domain)
        count = kept.count
    }

    /// The domains with cookies below the same registrable domain.
    ///
    /// An IP address and a public suffix have only themselves.
    private func site(of domain: String) -> [String] {
        guard !Origin.isAddress(domain),
            let site = PublicSuffixList.registrableDomain(of: domain)
        else { return [domain] }
        return domains.keys.filter { $0 == site || Origin.isName($0, under: site) }
    }

    /// Nine tenths of the cookies that a limit allows, or all if they are not more.
    ///
    /// Those that are not secure are evicted first, and others only if these alone exceed the limit:
    /// otherwise a response over http could remove them (RFC 6265bis §5.7). Among equals go those
    /// used the longest time ago (RFC 6265 §5.3), then the youngest: all cookies of a path are used
    /// together, and a login is older than what responses add.
    private static func kept(_ limit: Int, of stored: [Stored], _ now: Date) -> [Stored] {
        let count = limit * 9 / 10
        let current = stored.filter { !$0.cookie.hasEnded(now) }
        guard current.count > count else { return current }
        let inOrder = current.sorted {
            ($1.lastUse, $0.cookie.creationDate) < ($0.lastUse, $1.cookie.creationDate)
        }
        let secure = inOrder.filter(\.cookie.isSecure)
        if secure.count > limit { return Array(secure.prefix(count)) }
        let others = inOrder.filter { !$0.cookie.isSecure }
        return secure + others.prefix(max(0, count - secure.count))
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

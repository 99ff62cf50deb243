public import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletPublicSuffix
import OutletTransport
import Synchronization

/// From whom cookies are taken.
public enum CookieAcceptPolicy: Sendable, Hashable {
    /// From everybody.
    case always
    /// From no server; stored cookies are still sent.
    case never
    /// From the site of the original request; not from other sites that redirects lead to.
    case onlyFromMainDocumentDomain
}

/// Keeps cookies between requests (RFC 6265), in memory; see
/// `SessionConfiguration.httpCookieStorage`.
///
/// Domains are checked against the public suffix list (libpsl), so that no server sets cookies for
/// all of `co.uk`. At most 180 cookies are kept for a domain, 3300 in all; the oldest go first,
/// some at a time.
///
/// Thread: any.
public final class CookieStorage: Sendable {
    private struct State: Sendable {
        var jar = CookieJar()
        var recent = RecentCookies()
        var acceptPolicy: CookieAcceptPolicy
    }
    private let state: Lock<State>
    /// Whether there are any; written under the lock, read at each request without it.
    private let hasAny = Atomic(false)

    /// Makes an empty storage.
    ///
    /// - Parameter cookieAcceptPolicy: Which cookies of responses are stored.
    public init(cookieAcceptPolicy: CookieAcceptPolicy = .always) {
        state = Lock(State(acceptPolicy: cookieAcceptPolicy))
    }

    /// From whom cookies are taken.
    public var cookieAcceptPolicy: CookieAcceptPolicy {
        get { state.withLock { $0.acceptPolicy } }
        set { state.withLock { $0.acceptPolicy = newValue } }
    }

    /// All cookies that have not ended.
    public var cookies: [Cookie] { state.withLock { $0.jar.cookies(now: Date()) } }

    package var isEmpty: Bool { !hasAny.load(ordering: .acquiring) }

    /// Changes the jar.
    private func change(_ body: (inout sending State) -> Void) {
        state.withLock { state in
            body(&state)
            hasAny.store(!state.jar.isEmpty, ordering: .releasing)
        }
    }

    /// The cookies that are sent to an address, in the order in which they are sent (RFC 6265bis
    /// §5.8.3).
    public func cookies(for url: URL) -> [Cookie] {
        guard let origin = try? Origin(url) else { return [] }
        let path = url.wirePath
        let isSecure = Self.isTrustworthy(origin)
        return state.withLock { state in
            guard !state.jar.isEmpty else { return [] }
            return state.jar.cookies(host: origin.host, path: path, isSecure: isSecure, now: Date())
        }
    }

    /// Stores a cookie, whatever ``cookieAcceptPolicy`` says.
    ///
    /// Replaces one of the same name, domain and path; one that has expired removes it.
    public func setCookie(_ cookie: Cookie) {
        change { $0.jar.set(cookie, isSecure: true, now: Date()) }
    }

    /// Takes in what an answer has set.
    ///
    /// - Parameters:
    ///   - cookies: What was set.
    ///   - url: The address that answered.
    ///   - mainDocumentURL: Where the request went first.
    public func setCookies(_ cookies: [Cookie], for url: URL?, mainDocumentURL: URL? = nil) {
        guard !cookies.isEmpty, let url, let origin = try? Origin(url) else { return }
        let isSecure = Self.isTrustworthy(origin)
        let now = Date()
        change { state in
            guard
                Self.accepts(
                    from: origin, firstOf: mainDocumentURL, state.acceptPolicy, .always)
            else { return }
            for cookie in cookies { state.jar.set(cookie, isSecure: isSecure, now: now) }
        }
    }

    /// Takes in what an answer has set, as the stricter of two policies allows.
    ///
    /// - Parameters:
    ///   - fields: The values of its fields `Set-Cookie`.
    ///   - url: The address that answered.
    ///   - mainDocumentURL: Where the request went first; `nil` for the same address.
    func setCookies(
        _ fields: [String], from url: URL, policy: CookieAcceptPolicy, mainDocumentURL: URL?
    ) {
        guard let origin = try? Origin(url) else { return }
        let isSecure = Self.isTrustworthy(origin)
        let now = Date()
        change { state in
            guard Self.accepts(from: origin, firstOf: mainDocumentURL, state.acceptPolicy, policy)
            else { return }
            for field in fields {
                guard let cookie = state.recent.cookie(of: field, from: url, origin, now: now)
                else { continue }
                state.jar.set(cookie, isSecure: isSecure, now: now)
            }
        }
    }

    /// Whether policies take the cookies of an answer.
    private static func accepts(
        from origin: Origin, firstOf first: URL?, _ one: CookieAcceptPolicy,
        _ other: CookieAcceptPolicy
    ) -> Bool {
        if one == .never || other == .never { return false }
        guard one == .onlyFromMainDocumentDomain || other == .onlyFromMainDocumentDomain else {
            return true
        }
        return first.map { isSameSite(origin.host, host(of: $0)) } ?? true
    }

    /// Removes the cookie of the same name, domain and path.
    public func deleteCookie(_ cookie: Cookie) {
        change { state in
            state.jar.remove(cookie)
            state.recent = RecentCookies()
        }
    }

    /// Removes the cookies that were first set after a date.
    public func removeCookies(since date: Date) {
        change { state in
            state.jar.removeAll { $0.creationDate > date }
            state.recent = RecentCookies()
        }
    }

    // MARK: Files

    /// Takes in the cookies of a file in Netscape's format, as curl and wget write it.
    ///
    /// Lines that are no cookies are passed over. Blocks while it reads.
    ///
    /// - Parameter url: A file URL.
    /// - Throws: The error of reading the file; no cookie is stored then.
    public func load(contentsOf url: URL) throws {
        let text = String(decoding: try Data(contentOf: url), as: UTF8.self)
        let cookies = CookieFile.decode(text)
        let now = Date()
        change { state in
            for cookie in cookies { state.jar.set(cookie, isSecure: true, now: now) }
        }
    }

    /// Writes the cookies to a file in Netscape's format, for its owner's eyes only (mode 0600).
    ///
    /// `SameSite` goes into a comment, which other programs pass over. Blocks while it writes.
    ///
    /// - Parameters:
    ///   - url: The file; an existing file is replaced atomically.
    ///   - includesSessionCookies: Whether those are written that end with the session.
    /// - Throws: ``CacheStorageError``.
    public func save(to url: URL, includesSessionCookies: Bool = true) throws {
        let cookies = cookies.filter { includesSessionCookies || !$0.isSessionOnly }
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(
                Data(CookieFile.encode(cookies).utf8), to: url.path)
        } catch {
            throw CacheStorageError(error)
        }
    }

    // MARK: Addresses

    /// The host in canonical form; `nil` for addresses that no request can be sent to.
    static func host(of url: URL) -> String? { (try? Origin(url))?.host }

    /// Whether the connection is secure: encrypted, or to this machine.
    static func isTrustworthy(_ origin: Origin) -> Bool {
        origin.isSecure || origin.host == "localhost" || origin.isUnder("localhost")
            || origin.host == "127.0.0.1" || origin.host == "::1"
    }

    private static func isSameSite(_ host: String, _ other: String?) -> Bool {
        guard let other, host != other else { return other != nil }
        guard !Origin.isAddress(host), !Origin.isAddress(other),
            let site = PublicSuffixList.registrableDomain(of: host)
        else { return false }
        return site == PublicSuffixList.registrableDomain(of: other)
    }
}

public import FoundationEssentials
import Glibc
import OutletFiles
package import OutletHTTP
import OutletPublicSuffix
import OutletTransport
import Synchronization

/// Which cookies of responses are stored.
public enum CookieAcceptPolicy: Sendable, Hashable {
    /// The cookies of all servers.
    case always
    /// None; stored cookies are still sent.
    case never
    /// The cookies of the original request's site; not those of other sites that it is redirected
    /// to.
    case onlyFromMainDocumentDomain
}

/// Stores cookies between requests (RFC 6265), in memory.
///
/// See `SessionConfiguration.httpCookieStorage`. Domains are checked with the public suffix list
/// (libpsl), so that a server cannot set cookies for all of `co.uk`. At most 180 cookies are stored per
/// site (a registered domain with all below it), 3300 in total; beyond that, a tenth is removed: cookies
/// that are not secure, or, if the secure ones alone are too many, some of these; first those used the
/// longest time ago.
///
/// Thread: any.
public final class CookieStorage: Sendable {
    private struct State: Sendable {
        var jar = CookieJar()
        var recent = RecentCookies()
        var sent = SentCookies()
        var acceptPolicy: CookieAcceptPolicy
    }
    private let state: Lock<State>
    /// Whether there are cookies; written with the lock held, read without it for each request.
    private let hasAny = Atomic(false)

    /// Makes an empty storage.
    ///
    /// - Parameter cookieAcceptPolicy: Which cookies of responses are stored.
    public init(cookieAcceptPolicy: CookieAcceptPolicy = .always) {
        state = Lock(State(acceptPolicy: cookieAcceptPolicy))
    }

    /// Which cookies of responses are stored.
    public var cookieAcceptPolicy: CookieAcceptPolicy {
        get { state.withLock { $0.acceptPolicy } }
        set { state.withLock { $0.acceptPolicy = newValue } }
    }

    /// All cookies that have not expired, sorted by domain, path and name.
    public var cookies: [Cookie] { state.withLock { $0.jar.cookies(now: Date()) } }

    /// The number of changes after which other cookies may be sent.
    var changes: Int { state.withLock { $0.jar.changes } }

    package var isEmpty: Bool { !hasAny.load(ordering: .acquiring) }

    /// Changes the state, and updates `hasAny`.
    private func change(_ body: (inout sending State) -> Void) {
        state.withLock { state in
            body(&state)
            hasAny.store(!state.jar.isEmpty, ordering: .releasing)
        }
    }

    /// Returns the cookies that are sent to a URL.
    ///
    /// - Parameter url: The URL of the request.
    /// - Returns: The cookies, in the order in which they are sent (RFC 6265bis §5.8.3).
    public func cookies(for url: URL) -> [Cookie] {
        guard let origin = try? Origin(url) else { return [] }
        let path = url.wirePath
        let isSecure = Self.isTrustworthy(origin)
        return state.withLock { state in
            guard !state.jar.isEmpty else { return [] }
            return state.jar.cookies(host: origin.host, path: path, isSecure: isSecure, now: Date())
        }
    }

    /// Stores a cookie, regardless of ``cookieAcceptPolicy``.
    ///
    /// Replaces the cookie of the same name, domain, path and ``Cookie/isHostOnly``.
    ///
    /// - Parameter cookie: The cookie; an expired one only removes the former one.
    public func setCookie(_ cookie: Cookie) {
        change { $0.jar.set(cookie, isSecure: true, now: Date()) }
    }

    /// Stores the cookies of a response, if ``cookieAcceptPolicy`` allows it.
    ///
    /// For a URL without TLS, except to this machine, secure cookies are not stored, and others do
    /// not replace or hide secure ones.
    ///
    /// - Parameters:
    ///   - cookies: The cookies.
    ///   - url: The URL of the request; `nil` stores nothing.
    ///   - mainDocumentURL: The URL of the original request, before redirects; `nil`, the default,
    ///     for the same URL.
    public func setCookies(_ cookies: [Cookie], for url: URL?, mainDocumentURL: URL? = nil) {
        guard !cookies.isEmpty, let url, let origin = try? Origin(url) else { return }
        let isSecure = Self.isTrustworthy(origin)
        let now = Date()
        change { state in
            guard
                Self.accepts(from: url, firstOf: mainDocumentURL, state.acceptPolicy, .always)
            else { return }
            for cookie in cookies { state.jar.set(cookie, isSecure: isSecure, now: now) }
        }
    }

    /// The field that sets cookies.
    static let setCookie: FieldNames = ["Set-Cookie"]

    /// Stores the cookies of a response, if both the storage's policy and another one allow it.
    ///
    /// - Parameters:
    ///   - headers: The fields of the response; each `Set-Cookie` is one cookie.
    ///   - url: The URL of the request.
    ///   - policy: The other policy.
    ///   - mainDocumentURL: The URL of the original request, before redirects; `nil` for the same
    ///     URL.
    func setCookies(
        of headers: HTTPHeaders, from url: URL, policy: CookieAcceptPolicy, mainDocumentURL: URL?
    ) {
        change { state in
            guard Self.accepts(from: url, firstOf: mainDocumentURL, state.acceptPolicy, policy)
            else { return }
            headers.forEachValue(of: Self.setCookie) { field in
                state.recent.set(field, from: url, in: &state.jar, now: Date())
                return true
            }
        }
    }

    /// Returns the request with the stored cookies for its URL, after its own ones; `nil` if none
    /// are added.
    ///
    /// Stored cookies with the name of one of the request's own are not added.
    package func addingCookies(to request: HTTPRequest) -> HTTPRequest? {
        guard !isEmpty, request.httpShouldHandleCookies else { return nil }
        return state.withLock { $0.sent.request(request, from: &$0.jar, now: Date()) }
    }

    /// Whether two policies both allow the cookies of a response.
    private static func accepts(
        from url: URL, firstOf first: URL?, _ one: CookieAcceptPolicy, _ other: CookieAcceptPolicy
    ) -> Bool {
        if one == .never || other == .never { return false }
        guard one == .onlyFromMainDocumentDomain || other == .onlyFromMainDocumentDomain else {
            return true
        }
        guard let first else { return true }
        return host(of: url).map { isSameSite($0, host(of: first)) } ?? false
    }

    /// Removes the cookie of the same name, domain, path and ``Cookie/isHostOnly``.
    ///
    /// - Parameter cookie: The cookie; no effect if it is not stored.
    public func deleteCookie(_ cookie: Cookie) {
        change { $0.jar.remove(cookie) }
    }

    /// Removes the cookies that were first set after a date.
    ///
    /// - Parameter date: The date.
    public func removeCookies(since date: Date) {
        change { $0.jar.removeAll { $0.creationDate > date } }
    }

    // MARK: Files

    /// Adds the cookies of a file in Netscape's format, which curl and wget write.
    ///
    /// Lines that contain no valid cookie are ignored. Blocks while it reads.
    ///
    /// - Parameter url: A file URL.
    /// - Throws: The error of reading the file; no cookie is stored then.
    public func load(contentsOf url: URL) throws {
        let cookies = CookieFile.decode(try Data(contentOf: url))
        let now = Date()
        change { state in
            for cookie in cookies { state.jar.set(cookie, isSecure: true, now: now) }
        }
    }

    /// Writes the cookies to a file in Netscape's format, readable only by its owner (mode 0600).
    ///
    /// `SameSite` is written as a comment, which other programs ignore. Cookies that the format
    /// cannot represent are left out. Blocks while it writes.
    ///
    /// - Parameters:
    ///   - url: The file; an existing file is replaced atomically.
    ///   - includesSessionCookies: Whether to write cookies that expire with the session; true by
    ///     default.
    /// - Throws: ``CacheStorageError``.
    public func save(to url: URL, includesSessionCookies: Bool = true) throws {
        let cookies = cookies.filter { includesSessionCookies || !$0.isSessionOnly }
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(CookieFile.encode(cookies), to: PrivateFile.path(of: url))
        } catch {
            throw CacheStorageError(error)
        }
    }

    // MARK: Hosts

    /// Returns the host in canonical form; `nil` for URLs that no request can be sent to.
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

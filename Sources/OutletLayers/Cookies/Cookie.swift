public import FoundationEssentials
public import OutletHTTP

/// A name and a value that a server wants back, and when (RFC 6265).
public struct Cookie: Sendable, Hashable {
    /// What a server says about requests from other sites; kept, but for browsers to heed.
    public enum SameSite: String, Sendable, CaseIterable {
        /// From its own site only.
        case strict = "Strict"
        /// From its own site, and by links that lead there.
        case lax = "Lax"
        /// From anywhere.
        case none = "None"
    }

    /// The name; may be empty.
    public var name: String
    /// The value, as sent.
    public var value: String
    /// The host that gets the cookie, in lower case, without a leading dot.
    public var domain: String
    /// Whether that host alone gets it, and no name under it.
    public var isHostOnly: Bool
    /// Addresses at or under this path get it.
    public var path: String
    /// When it ends; with the session if `nil`.
    public var expiresDate: Date?
    /// Whether it travels encrypted only.
    public var isSecure: Bool
    /// Whether a browser would keep it from scripts.
    public var isHTTPOnly: Bool
    /// What the server says about requests from other sites.
    public var sameSite: SameSite?
    /// When it was first set; orders cookies of one path.
    public var creationDate: Date

    /// Makes a cookie.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    ///   - domain: Who gets it; with a leading dot, names under it as well.
    ///   - path: Addresses at or under this path get it.
    ///   - expiresDate: When it ends; with the session if `nil`.
    ///   - isSecure: Whether it travels encrypted only.
    ///   - isHTTPOnly: Whether a browser would keep it from scripts.
    ///   - sameSite: What it says about requests from other sites.
    ///   - creationDate: When it was first set.
    public init(
        name: String, value: String, domain: String, path: String = "/", expiresDate: Date? = nil,
        isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite? = nil,
        creationDate: Date = Date()
    ) {
        self.name = name
        self.value = value
        self.isHostOnly = domain.utf8.first != UInt8(ascii: ".")
        self.domain = Origin.hostForComparison(String(domain.droppingBytes(isHostOnly ? 0 : 1)))
        self.path = path
        self.expiresDate = expiresDate
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.creationDate = creationDate
    }

    /// Whether it ends with the session.
    public var isSessionOnly: Bool { expiresDate == nil }

    /// The cookies that an answer from an address sets, those that are refused left out.
    ///
    /// Refused are cookies for other hosts or for public suffixes, `Secure` ones that came in clear
    /// (but from this machine), and those that break the promise of their prefix (RFC 6265bis
    /// §4.1.3).
    ///
    /// - Parameters:
    ///   - headerFields: The fields of the response; each `Set-Cookie` is one cookie.
    ///   - url: The address of the request that was answered.
    public static func cookies(
        withResponseHeaderFields headerFields: HTTPHeaders, for url: URL
    ) -> [Cookie] {
        guard let origin = try? Origin(url) else { return [] }
        let now = Date()
        return headerFields.values(for: "Set-Cookie").compactMap {
            SetCookie($0)?.cookie(from: url, of: origin, now: now)
        }
    }

    /// The `Cookie` field that sends the given cookies, in their order; empty for none.
    public static func requestHeaderFields(with cookies: [Cookie]) -> HTTPHeaders {
        cookies.isEmpty ? [:] : ["Cookie": cookies.map(\.pair).joined(separator: "; ")]
    }

    /// As it is sent.
    var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// Whether it is for that host.
    func isFor(host: String) -> Bool {
        host == domain || (!isHostOnly && Origin.isName(host, under: domain))
    }

    /// Whether a text can be a host in a file: letters, digits, hyphens, underscores, dots and
    /// colons, not beginning with a dot.
    static func isHost(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, first != UInt8(ascii: ".") else { return false }
        return text.utf8.allSatisfy { $0.isAlpha || $0.isDigit || "-_.:".utf8.contains($0) }
    }

    /// Whether a cookie keeps what its prefix promises (RFC 6265bis §4.1.3).
    ///
    /// Without a name the value is sent alone; a server would read a name with a prefix in it.
    ///
    /// - Parameter isOfHost: Whether it is for the whole of one host, and no other.
    static func keepsPrefix(
        name: String, value: String, isSecure: Bool, isOfHost: Bool
    ) -> Bool {
        let sent = name.isEmpty ? value : name
        let isForHost = sent.startsIgnoringCase(with: "__Host-")
        guard isForHost || sent.startsIgnoringCase(with: "__Secure-") else { return true }
        return !name.isEmpty && isSecure && (isOfHost || !isForHost)
    }

    /// Whether it is the same but for when it was first set.
    func isSame(as other: Cookie) -> Bool {
        value.hasSameBytes(as: other.value) && name.hasSameBytes(as: other.name)
            && domain.hasSameBytes(as: other.domain) && path.hasSameBytes(as: other.path)
            && isHostOnly == other.isHostOnly && expiresDate == other.expiresDate
            && isSecure == other.isSecure && isHTTPOnly == other.isHTTPOnly
            && sameSite == other.sameSite
    }

    /// Whether it is for that path (RFC 6265 §5.1.4).
    func isFor(path: String) -> Bool {
        if self.path.hasSameBytes(as: "/") { return true }
        guard path.startsWithBytes(of: self.path) else { return false }
        let rest = path.droppingBytes(self.path.utf8.count)
        return rest.isEmpty || self.path.endsWithBytes(of: "/") || rest.startsWithBytes(of: "/")
    }
}

extension Cookie: CustomStringConvertible {
    /// Name, host and path; the value is left out, it may be a secret.
    public var description: String {
        "\(name)=••• for \(isHostOnly ? "" : ".")\(domain)\(path)"
    }
}

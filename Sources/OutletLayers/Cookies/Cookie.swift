public import FoundationEssentials
public import OutletHTTP

/// An HTTP cookie (RFC 6265).
public struct Cookie: Sendable, Hashable {
    /// The `SameSite` attribute, which is stored, but has an effect only in browsers.
    public enum SameSite: String, Sendable, CaseIterable {
        /// Send the cookie only with requests from its own site.
        case strict = "Strict"
        /// Send it also when a link from another site is followed.
        case lax = "Lax"
        /// Send it with all requests.
        case none = "None"
    }

    /// The name; may be empty.
    public var name: String
    /// The value, as it is sent.
    public var value: String
    /// The host the cookie is sent to, in lower case, without a leading dot.
    public var domain: String
    /// Whether the cookie is sent only to that host, and not to its subdomains.
    public var isHostOnly: Bool
    /// The path at and below which the cookie is sent.
    public var path: String
    /// The time when the cookie expires; `nil` for the end of the session.
    public var expiresDate: Date?
    /// Whether the cookie is sent only over encrypted connections.
    public var isSecure: Bool
    /// Whether a browser must hide the cookie from scripts.
    public var isHTTPOnly: Bool
    /// The `SameSite` attribute; `nil` if the server has not set it.
    public var sameSite: SameSite?
    /// The time when the cookie was first set, which determines the order among cookies with
    /// equally long paths.
    public var creationDate: Date
    /// Whether the bytes of name and value are Latin-1; otherwise they are UTF-8.
    ///
    /// A server's bytes that are not UTF-8 are decoded as Latin-1, and are sent back unchanged.
    package var isLatin1 = false

    /// Makes a cookie.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    ///   - domain: The host the cookie is sent to; with a leading dot, also to its subdomains.
    ///   - path: The path at and below which the cookie is sent; `/` by default.
    ///   - expiresDate: The time when it expires; `nil`, the default, for the end of the session.
    ///   - isSecure: Whether it is sent only over encrypted connections; false by default.
    ///   - isHTTPOnly: Whether a browser must hide it from scripts; false by default.
    ///   - sameSite: The `SameSite` attribute; `nil` by default.
    ///   - creationDate: The time when it was first set; now by default.
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

    /// Whether the cookie expires at the end of the session.
    public var isSessionOnly: Bool { expiresDate == nil }

    /// Returns the cookies that a response sets, without those that must be refused.
    ///
    /// Refused are cookies for other hosts or for public suffixes, `Secure` cookies over an
    /// unencrypted connection (except to this machine), and cookies that violate the rules of their
    /// name's prefix (RFC 6265bis §4.1.3).
    ///
    /// - Parameters:
    ///   - headerFields: The fields of the response; each `Set-Cookie` is one cookie.
    ///   - url: The URL of the request.
    /// - Returns: The cookies, in the order of their fields.
    public static func cookies(
        withResponseHeaderFields headerFields: HTTPHeaders, for url: URL
    ) -> [Cookie] {
        guard let origin = try? Origin(url) else { return [] }
        let now = Date()
        return headerFields.filter { $0.name.equalsIgnoringCase("Set-Cookie") }.compactMap {
            SetCookie($0)?.cookie(from: url, of: origin, now: now)
        }
    }

    /// Returns the `Cookie` field that sends cookies.
    ///
    /// - Parameter cookies: The cookies, in the order in which they are sent.
    /// - Returns: The field; empty if there are no cookies.
    public static func requestHeaderFields(with cookies: [Cookie]) -> HTTPHeaders {
        cookies.isEmpty ? [:] : HTTPHeaders([cookieField(cookies.map(\.pairBytes))])
    }

    /// The `Cookie` field of the bytes of several cookies.
    static func cookieField(_ pairs: [[UInt8]]) -> HTTPHeader {
        HTTPHeader(name: "Cookie", valueBytes: pairs.joined(separator: "; ".utf8))
    }

    /// The text that is sent for the cookie, and its bytes.
    var pair: String { name.isEmpty ? value : "\(name)=\(value)" }
    var pairBytes: [UInt8] { bytes(of: pair) }

    /// The bytes of a text that contains name or value.
    func bytes(of text: String) -> [UInt8] {
        // Name and value can have been set to other texts.
        let isLatin1 = isLatin1 && text.unicodeScalars.allSatisfy { $0.value <= 0xFF }
        return isLatin1 ? text.latin1Bytes : Array(text.utf8)
    }

    /// Whether the cookie is sent to a host.
    func isFor(host: String) -> Bool {
        host == domain || (!isHostOnly && Origin.isName(host, under: domain))
    }

    /// Whether a text can be the host in a line of a file: letters, digits, hyphens, underscores,
    /// dots and colons, without a leading dot.
    static func isHost(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, first != UInt8(ascii: ".") else { return false }
        return text.utf8.allSatisfy { $0.isAlpha || $0.isDigit || "-_.:".utf8.contains($0) }
    }

    /// Whether a cookie satisfies the rules of its name's prefix (RFC 6265bis §4.1.3).
    ///
    /// Without a name only the value is sent, so a server would take a prefix in it for that of a
    /// name. Blanks before a prefix do not count, because some servers remove them: Python's `strip`
    /// all of Unicode's, JavaScript's `trim` also U+FEFF.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    ///   - isSecure: Whether the cookie has the attribute `Secure`.
    ///   - isOfHost: Whether the cookie applies to all paths of exactly one host.
    /// - Returns: True for names without such a prefix, too.
    static func keepsPrefix(
        name: String, value: String, isSecure: Bool, isOfHost: Bool
    ) -> Bool {
        let sent = Substring(
            (name.isEmpty ? value : name).unicodeScalars.drop(while: isBlank))
        let isForHost = sent.startsIgnoringCase(with: "__Host-")
        guard isForHost || sent.startsIgnoringCase(with: "__Secure-") else { return true }
        return !name.isEmpty && isSecure && (isOfHost || !isForHost)
    }

    /// Whether a scalar has Unicode's property `White_Space`, or is U+FEFF.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09...0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F,
            0x3000, 0xFEFF:
            true
        default: false
        }
    }

    /// Whether two cookies are equal except for their creation date.
    func isSame(as other: Cookie) -> Bool {
        value.hasSameBytes(as: other.value) && name.hasSameBytes(as: other.name)
            && domain.hasSameBytes(as: other.domain) && path.hasSameBytes(as: other.path)
            && isHostOnly == other.isHostOnly && expiresDate == other.expiresDate
            && isSecure == other.isSecure && isHTTPOnly == other.isHTTPOnly
            && sameSite == other.sameSite && isLatin1 == other.isLatin1
    }

    /// Whether the cookie is sent to a path (RFC 6265 §5.1.4).
    func isFor(path: String) -> Bool {
        if self.path.hasSameBytes(as: "/") { return true }
        guard path.startsWithBytes(of: self.path) else { return false }
        let rest = path.droppingBytes(self.path.utf8.count)
        return rest.isEmpty || self.path.endsWithBytes(of: "/") || rest.startsWithBytes(of: "/")
    }
}

extension Cookie: CustomStringConvertible {
    /// Name, host and path, without the value, which may be secret.
    public var description: String {
        "\(name)=••• for \(isHostOnly ? "" : ".")\(domain)\(path)"
    }
}

extension Cookie: CustomReflectable {
    /// The properties without the value.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "name": name, "domain": domain, "path": path, "expiresDate": expiresDate as Any,
                "isSecure": isSecure, "isHTTPOnly": isHTTPOnly,
            ])
    }
}

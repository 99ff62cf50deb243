import FoundationEssentials
import OutletHTTP
import OutletPublicSuffix

/// A parsed `Set-Cookie` field (RFC 6265bis §5.6).
struct SetCookie: Sendable, Equatable {
    var name = ""
    var value = ""
    var expires: Date?
    /// The lifetime in seconds; 0 or less if the cookie expires at once.
    var maxAge: Double?
    var domain: String?
    var path: String?
    var isSecure = false
    var isHTTPOnly = false
    var sameSite: Cookie.SameSite?
    /// Whether the bytes of name and value are Latin-1; otherwise they are UTF-8.
    private let isLatin1: Bool

    /// The maximum numbers of bytes of name and value together, and of an attribute (RFC 6265bis
    /// §5.6).
    private static let pairLimit = 4096
    private static let attributeLimit = 1024
    /// The maximum lifetime of a cookie in seconds (RFC 6265bis §5.5).
    private static let longest = 400 * 86_400.0

    /// Parses a field; `nil` if it must be ignored: it contains control characters, has neither
    /// name nor value, or is too long.
    init?(_ field: HTTPHeader) {
        isLatin1 = field.isLatin1
        let field = field.value
        guard !field.utf8.contains(where: { $0.isControl && !$0.isBlank }) else { return nil }
        let parts = field.parts(separatedBy: ";")
        if let (name, value) = parts[0].cut(at: "=") {
            self.name = String(name.trimmingBlanks)
            self.value = String(value.trimmingBlanks)
        } else {
            value = String(parts[0].trimmingBlanks)
        }
        guard Self.isPair(name: name, value: value) else { return nil }
        for attribute in parts.dropFirst() { read(attribute) }
    }

    /// Whether name and value are not both empty, and not too long.
    static func isPair(name: String, value: String) -> Bool {
        (1...pairLimit).contains(name.utf8.count + value.utf8.count)
    }

    private mutating func read(_ attribute: Substring) {
        let (name, value) = attribute.cut(at: "=") ?? (attribute, "")
        let text = value.trimmingBlanks
        guard text.utf8.count <= Self.attributeLimit else { return }
        switch name.trimmingBlanks.lowercasedASCII {
        case "expires": expires = CookieDate.parse(String(text)) ?? expires
        case "max-age":
            let isNegative = text.startsWithBytes(of: "-")
            guard let seconds = text.droppingBytes(isNegative ? 1 : 0).clampedDecimal(Int64.self)
            else { return }
            maxAge = isNegative ? -Double(seconds) : Double(seconds)
        case "domain":
            domain = text.droppingBytes(text.startsWithBytes(of: ".") ? 1 : 0).lowercasedASCII
        case "path": path = String(text)
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite":
            sameSite = Cookie.SameSite.allCases.first { $0.rawValue.equalsIgnoringCase(text) }
        default: break
        }
    }

    /// Returns the cookie, if a URL may set it (RFC 6265bis §5.7).
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - origin: The origin of the URL.
    ///   - now: The current time.
    /// - Returns: The cookie; `nil` if it must be refused.
    func cookie(from url: URL, of origin: Origin, now: Date) -> Cookie? {
        let host = origin.host
        var (domain, isHostOnly) = (host, true)
        if let wanted = self.domain.map(Origin.hostForComparison), !wanted.isEmpty {
            if wanted == host {
                // Other hosts share a public suffix, so the cookie is for this host only.
                isHostOnly = Origin.isAddress(host) || PublicSuffixList.contains(host)
            } else {
                guard Origin.isName(host, under: wanted), !PublicSuffixList.contains(wanted) else {
                    return nil
                }
                (domain, isHostOnly) = (wanted, false)
            }
        }
        guard !isSecure || CookieStorage.isTrustworthy(origin) else { return nil }
        let namesHost = self.domain?.isEmpty == false
        guard
            Cookie.keepsPrefix(
                name: name, value: value, isSecure: isSecure, isOfHost: !namesHost && path == "/")
        else { return nil }
        var cookie = Cookie(
            name: name, value: value, domain: domain, path: cookiePath(url), isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: sameSite, creationDate: now)
        cookie.isHostOnly = isHostOnly
        cookie.expiresDate = end(now)
        cookie.isLatin1 = isLatin1
        return cookie
    }

    /// Returns the time when the cookie expires; `nil` for the end of the session.
    func end(_ now: Date) -> Date? {
        if let maxAge { return maxAge > 0 ? now + min(maxAge, Self.longest) : .distantPast }
        return expires.map { min($0, now + Self.longest) }
    }

    private func cookiePath(_ url: URL) -> String {
        if let path, path.startsWithBytes(of: "/") { return path }
        guard let (directory, _) = url.wirePath.cutAtLast("/"), !directory.isEmpty else {
            return "/"
        }
        return String(directory)
    }
}

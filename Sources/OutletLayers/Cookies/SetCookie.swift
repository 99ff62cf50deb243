import FoundationEssentials
import OutletHTTP
import OutletPublicSuffix

/// A `Set-Cookie` field taken apart (RFC 6265bis §5.6).
struct SetCookie: Sendable, Equatable {
    var name = ""
    var value = ""
    var expires: Date?
    /// Seconds.
    var maxAge: Double?
    var domain: String?
    var path: String?
    var isSecure = false
    var isHTTPOnly = false
    var sameSite: Cookie.SameSite?

    /// The most bytes of name and value, and of an attribute (§5.6).
    private static let pairLimit = 4096
    private static let attributeLimit = 1024
    /// No cookie lasts longer (§5.5).
    private static let longest = 400 * 86_400.0

    /// `nil` if it must be ignored: control characters, neither name nor value, or too long.
    init?(_ field: String) {
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

    /// Whether name and value are something, and not too much.
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

    /// The cookie, if an address may set it (§5.7).
    ///
    /// - Parameter origin: The address's.
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
        return cookie
    }

    /// When the cookie ends; `nil` for the session's end.
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

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

    /// `nil` for what is to be ignored: control characters, neither name nor value, too much of both.
    init?(_ field: String) {
        guard field.utf8.allSatisfy({ ($0 > 0x1F || $0 == 0x09) && $0 != 0x7F }) else { return nil }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        guard let pair = parts.first else { return nil }
        if let equals = pair.firstIndex(of: "=") {
            name = Self.trimmed(pair[..<equals])
            value = Self.trimmed(pair[pair.index(after: equals)...])
        } else {
            value = Self.trimmed(pair)
        }
        guard !name.isEmpty || !value.isEmpty,
            name.utf8.count + value.utf8.count <= Self.pairLimit
        else { return nil }
        for attribute in parts.dropFirst() { read(attribute) }
    }

    private mutating func read(_ attribute: Substring) {
        let parts = attribute.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first.map(Self.trimmed) else { return }
        let value = parts.count > 1 ? Self.trimmed(parts[1]) : ""
        guard value.utf8.count <= Self.attributeLimit else { return }
        switch name.lowercased() {
        case "expires": expires = CookieDate.parse(value) ?? expires
        case "max-age":
            let digits = value.hasPrefix("-") ? value.dropFirst() : value[...]
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return
            }
            maxAge = Double(value)
        case "domain":
            domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
        case "path": path = value
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite":
            sameSite = Cookie.SameSite.allCases.first {
                $0.rawValue.lowercased() == value.lowercased()
            }
        default: break
        }
    }

    /// The cookie, if an address may set it (§5.7).
    func cookie(from url: URL, now: Date) -> Cookie? {
        guard let origin = try? Origin(url) else { return nil }
        let host = origin.host
        var (domain, isHostOnly) = (host, true)
        if let wanted = self.domain.map(Origin.hostForComparison), !wanted.isEmpty {
            if wanted == host {
                // Under a public suffix others have names: only that host itself.
                isHostOnly = Origin.isAddress(host) || PublicSuffixList.contains(host)
            } else {
                guard Origin.isName(host, under: wanted), !PublicSuffixList.contains(wanted) else {
                    return nil
                }
                (domain, isHostOnly) = (wanted, false)
            }
        }
        guard !isSecure || CookieStorage.isTrustworthy(origin) else { return nil }
        let prefix = name.lowercased()
        if prefix.hasPrefix("__secure-"), !isSecure { return nil }
        if prefix.hasPrefix("__host-"), !isSecure || self.domain?.isEmpty == false || path != "/" {
            return nil
        }
        var cookie = Cookie(
            name: name, value: value, domain: domain, path: cookiePath(url), isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: sameSite, creationDate: now)
        cookie.isHostOnly = isHostOnly
        cookie.expiresDate = end(now)
        return cookie
    }

    private func end(_ now: Date) -> Date? {
        if let maxAge { return maxAge > 0 ? now + min(maxAge, Self.longest) : .distantPast }
        return expires.map { min($0, now + Self.longest) }
    }

    private func cookiePath(_ url: URL) -> String {
        if let path, path.hasPrefix("/") { return path }
        let own = CookieStorage.path(of: url)
        guard let slash = own.lastIndex(of: "/"), slash > own.startIndex else { return "/" }
        return String(own[..<slash])
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        let end = start.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { String(start[...$0]) } ?? ""
    }
}

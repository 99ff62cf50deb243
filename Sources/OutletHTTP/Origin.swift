public import FoundationEssentials
import Glibc
import OutletIDN

/// The origin of a URL: scheme, host and port (RFC 6454), in canonical form.
///
/// The transport connects to this value, and cookies, HSTS, trust, credentials, redirects, cache
/// and connection pool compare it. So all of them see the same host, however the URL spells it:
/// `HTTP://LOC%61LHOST:80/` and `http://localhost/` have the same origin, as have `http://127.1/`
/// and `http://127.0.0.1/`. `http://bücher.example/` has the host `xn--bcher-kva.example`.
public struct Origin: Sendable, Hashable {
    /// `http` or `https`; `ws` URLs have `http`, `wss` URLs have `https`.
    public let scheme: String
    /// The host in canonical form.
    ///
    /// A name is in ASCII and lower case, without a dot at its end. An IPv4 address has four
    /// decimal numbers. An IPv6 address has the form of RFC 5952 without brackets; its zone, if
    /// any, follows a `%`.
    public let host: String
    /// The port; 80 or 443 if the URL names none.
    public let port: Int

    /// Makes the origin of a URL.
    ///
    /// - Parameter url: An absolute URL with the scheme `http`, `https`, `ws` or `wss`.
    /// - Throws: ``OriginError`` if the URL has no scheme or another one, no host, a host without a
    ///   canonical form, a port outside 1 to 65535, or more than one `@` before the host.
    public init(_ url: URL) throws(OriginError) {
        let text = url.absoluteString
        if let known = ParsedOriginCache.shared.origin(of: text) {
            self = known
            return
        }
        self = try Authority(text).origin
        ParsedOriginCache.shared.keep(self, of: text)
    }

    fileprivate init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// Whether the scheme is `https`, which is the only one with five letters.
    package var isSecure: Bool { scheme.utf8.count == 5 }

    /// Whether the host is an IP address, not a name.
    package var isAddress: Bool { Self.isAddress(host) }

    /// Whether a canonical host is an IP address, not a name.
    package static func isAddress(_ host: String) -> Bool {
        // `init` refuses names whose last label is a number: digits and dots are an IPv4 address.
        host.utf8.contains(UInt8(ascii: ":"))
            || host.utf8.last?.isDigit == true
                && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || $0.isDigit }
    }

    /// Whether the host is a subdomain of a canonical domain; always `false` for an IP address.
    package func isUnder(_ domain: String) -> Bool { Self.isName(host, under: domain) }

    /// Whether a canonical host is a subdomain of a canonical domain (RFC 6265 §5.1.3).
    ///
    /// `false` if both are the same.
    package static func isName(_ host: String, under domain: String) -> Bool {
        let (host8, domain8) = (host.utf8, domain.utf8)
        return host8.count > domain8.count + 1 && host8.suffix(domain8.count).elementsEqual(domain8)
            && host8.dropLast(domain8.count).last == UInt8(ascii: ".") && !isAddress(host)
    }

    /// The host without the zone of an IPv6 address, which certificates and networks do not have.
    package var addressWithoutZone: String {
        host.utf8.firstIndex(of: UInt8(ascii: "%")).map { String(host[..<$0]) } ?? host
    }

    /// The zone of an IPv6 address: the name or the number of an interface; `nil` for none.
    package var zone: String? {
        host.utf8.firstIndex(of: UInt8(ascii: "%")).map {
            String(host[host.utf8.index(after: $0)...])
        }
    }

    /// The host as written in a URL: an IPv6 address is in brackets, its zone follows `%25`.
    package var bracketedHost: String { Self.bracketed(host) }

    fileprivate static func bracketed(_ host: String) -> String {
        guard host.utf8.contains(UInt8(ascii: ":")) else { return host }
        guard let percent = host.utf8.firstIndex(of: UInt8(ascii: "%")) else { return "[\(host)]" }
        return "[\(host[..<percent])%25\(host[host.utf8.index(after: percent)...])]"
    }

    /// Returns the canonical form of a host from settings or user input.
    ///
    /// - Parameter text: A name or an IP address without a port; an IPv6 address with or without
    ///   brackets.
    /// - Throws: ``OriginError/invalidHost(_:reason:)`` if the host has no canonical form.
    package static func canonicalHost(_ text: String) throws(OriginError) -> String {
        let bytes = Array(text.utf8)
        let isBare = bytes.first != UInt8(ascii: "[") && bytes.contains(UInt8(ascii: ":"))
        return try Authority.host(
            isBare ? [UInt8(ascii: "[")] + bytes + [UInt8(ascii: "]")] : bytes
        )
    }

    /// Returns the canonical form of a host, or the text in lower case if it has none.
    ///
    /// Settings and files contain hosts that are compared with canonical ones. A text without a
    /// canonical form equals none of them, so it needs no error.
    package static func hostForComparison(_ text: String) -> String {
        if let host = try? canonicalHost(text) { return host }
        return text.lowercasedASCII
    }
}

extension Origin: CustomStringConvertible {
    /// The origin as a URL without a path; without the port if it is the scheme's default.
    public var description: String {
        let isUsual = port == (isSecure ? 443 : 80)
        return "\(scheme)://\(bracketedHost)\(isUsual ? "" : ":\(port)")"
    }
}

/// The error of a URL that has no ``Origin``.
public enum OriginError: Error, Sendable, Equatable {
    /// The URL does not begin with a scheme.
    case noScheme
    /// The scheme is none of `http`, `https`, `ws` and `wss`.
    case unsupportedScheme(String)
    /// The URL has no host.
    case noHost
    /// The host has no canonical form; `reason` says why.
    case invalidHost(String, reason: String)
    /// The port is not a number from 1 to 65535.
    case invalidPort(String, host: String)
    /// There is more than one `@` before the path, so that URL parsers disagree where the host
    /// begins.
    case ambiguousUserInfo(host: String)
}

extension OriginError: CustomStringConvertible {
    /// What is wrong, and with which host; without the user name and password.
    public var description: String {
        switch self {
        case .noScheme: "it has no scheme"
        case .unsupportedScheme(let scheme):
            "only http and https are spoken, not \(scheme.shortened(toBytes: 80))"
        case .noHost: "it has no host"
        case .invalidHost(let host, let reason): "host \(Self.shown(host)): \(reason)"
        case .invalidPort(let port, let host):
            // Other text may be the beginning of a password with a slash.
            "host \(Self.shown(host)): "
                + (port.utf8.allSatisfy(\.isDigit) && !port.isEmpty
                    ? "port \(Self.shown(port)) is not" : "its port is not")
                + " a number from 1 to 65535"
        case .ambiguousUserInfo(let host):
            "host \(Self.shown(host)): there is more than one @ before it; in a user name "
                + "or a password it is written %40"
        }
    }

    /// A part of the URL, which may come from a server, in quotes.
    private static func shown(_ part: String) -> String {
        String(reflecting: part.shortened(toBytes: 80))
    }
}

/// A URL in the form that the transport passes to libcurl.
package struct CanonicalAddress: Sendable {
    /// The origin of the URL.
    package let origin: Origin
    /// The origin's host as written in a URL, see ``Origin/bracketedHost``.
    package let wireHost: String
    /// The whole URL with a canonical host, without the scheme's default port, and without dot
    /// segments in its path.
    package let text: String
    /// Whether the URL has a user name or a password.
    package let hasUserInfo: Bool
    /// The scheme as written, in lower case: `http`, `https`, `ws` or `wss`.
    package let scheme: String

    /// The URL without the fragment, which is not sent to servers.
    package var textWithoutFragment: String {
        text.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(text[..<$0]) } ?? text
    }

    /// The value of the `Host` field: the host, and the port unless it is the scheme's default.
    ///
    /// It has no IPv6 zone, which has a meaning on this machine only (RFC 6874 §1).
    package var hostField: String {
        let name =
            origin.host.utf8.contains(UInt8(ascii: "%"))
            ? "[\(origin.addressWithoutZone)]" : wireHost
        return origin.port == (origin.isSecure ? 443 : 80) ? name : "\(name):\(origin.port)"
    }

    /// Brings a URL into canonical form.
    ///
    /// - Throws: ``OriginError``, as ``Origin/init(_:)``.
    package init(_ text: String) throws(OriginError) {
        let authority = try Authority(text)
        origin = authority.origin
        wireHost = authority.origin.bracketedHost
        hasUserInfo = authority.hasUserInfo
        scheme = authority.scheme
        let usual = origin.isSecure ? 443 : 80
        self.text =
            authority.scheme + "://" + authority.userInfo + wireHost
            + (origin.port == usual ? "" : ":\(origin.port)") + authority.rest.withoutDotSegments
    }
}

extension URL {
    /// The URL without user name and password.
    package var withoutUserInfo: URL {
        let text = absoluteString
        guard let range = userInfoRange(of: text) else { return self }
        return URL(string: String(text[..<range.lowerBound]) + String(text[range.upperBound...]))
            ?? self
    }

    /// Returns the URL with the user name and password of another URL in place of its own.
    package func with(userInfoOf other: URL) -> URL {
        let text = other.absoluteString
        guard let range = userInfoRange(of: text) else { return withoutUserInfo }
        var own = withoutUserInfo.absoluteString
        guard let start = endOfSlashes(own.utf8) else { return self }
        own.insert(contentsOf: text[range], at: start)
        return URL(string: own) ?? self
    }

    /// User name and password as written in the URL, with the `@` after them; `nil` without any.
    package var userInfo: String? {
        let text = absoluteString
        return userInfoRange(of: text).map { String(text[$0]) }
    }

    /// Whether the URL has a user name or a password.
    package var hasUserInfo: Bool { userInfoRange(of: absoluteString) != nil }
}

/// Returns the range of user name and password in a URL, the `@` included.
private func userInfoRange(of text: String) -> Range<String.Index>? {
    let bytes = text.utf8
    // Most URLs have none, and one search is faster than the three below.
    let mayHaveOne = bytes.withContiguousStorageIfAvailable { bytes in
        bytes.baseAddress.map { memchr($0, Int32(UInt8(ascii: "@")), bytes.count) != nil } ?? false
    }
    guard mayHaveOne != false, let start = endOfSlashes(bytes) else { return nil }
    let end = bytes[start...].firstIndex(where: endsAuthority) ?? bytes.endIndex
    guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return nil }
    return start..<bytes.index(after: at)
}

extension String {
    /// Scheme and authority of a URL; `nil` if it has no `://`, or may have a user name or a
    /// password.
    package var server: Substring? {
        guard let start = endOfSlashes(utf8), !utf8.contains(UInt8(ascii: "@")) else { return nil }
        return self[..<(utf8[start...].firstIndex(where: endsAuthority) ?? endIndex)]
    }

    /// Path, query and fragment of a URL; all of the text if it has no `://`.
    var behindAuthority: Substring {
        guard let start = endOfSlashes(utf8) else { return self[...] }
        return self[(utf8[start...].firstIndex(where: endsAuthority) ?? endIndex)...]
    }
}

/// Returns where the authority of a URL begins: after `://`, if that follows the first colon.
private func endOfSlashes(_ bytes: String.UTF8View) -> String.Index? {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let rest = bytes[colon...].dropFirst()
    guard rest.starts(with: "//".utf8) else { return nil }
    return rest.index(rest.startIndex, offsetBy: 2)
}

/// Whether a byte ends the authority of a URL (RFC 3986 §3.2).
private func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
}

/// The parsed authority of a URL.
///
/// Parses as libcurl does (`lib/urlapi.c`), but refuses what libcurl and other parsers read
/// differently.
private struct Authority {
    let origin: Origin
    /// The scheme as written, in lower case.
    let scheme: String
    /// User name and password with the `@` after them; empty without any.
    let userInfo: Substring
    /// Path, query and fragment.
    let rest: Substring

    var hasUserInfo: Bool { !userInfo.isEmpty }

    init(_ text: String) throws(OriginError) {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > bytes.startIndex,
            !bytes[..<colon].contains(where: endsAuthority)
        else { throw .noScheme }
        scheme = String(decoding: bytes[..<colon].map(\.lowercased), as: UTF8.self)
        let isSecure: Bool
        switch scheme {
        case "http", "ws": isSecure = false
        case "https", "wss": isSecure = true
        default: throw .unsupportedScheme(scheme)
        }
        guard let start = endOfSlashes(bytes) else { throw .noHost }
        let end = bytes[start...].firstIndex(where: endsAuthority) ?? bytes.endIndex
        rest = text[end...]
        let server: Substring.UTF8View
        if let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) {
            let afterAt = bytes.index(after: at)
            userInfo = text[start..<afterAt]
            server = bytes[afterAt..<end]
            guard !bytes[start..<at].contains(UInt8(ascii: "@")) else {
                throw .ambiguousUserInfo(host: String(Substring(server)))
            }
        } else {
            userInfo = ""
            server = bytes[start..<end]
        }
        let endOfHost = Self.endOfHost(server)
        let host = server[..<endOfHost]
        guard !host.isEmpty else { throw .noHost }
        origin = Origin(
            scheme: isSecure ? "https" : "http", host: try Self.host(Array(host)),
            port: try Self.port(server[endOfHost...], host) ?? (isSecure ? 443 : 80))
    }

    /// Returns the index after the bracket of an IPv6 address, or else that of the first colon.
    private static func endOfHost(_ server: Substring.UTF8View) -> String.Index {
        if server.first == UInt8(ascii: "["), let bracket = server.firstIndex(of: UInt8(ascii: "]"))
        {
            return server.index(after: bracket)
        }
        return server.firstIndex(of: UInt8(ascii: ":")) ?? server.endIndex
    }

    /// Returns the number after a colon; `nil` without one, for the scheme's default port.
    private static func port(
        _ text: Substring.UTF8View, _ host: Substring.UTF8View
    ) throws(OriginError) -> Int? {
        guard let colon = text.first else { return nil }
        let digits = text.dropFirst()
        guard colon == UInt8(ascii: ":") else {
            throw .invalidHost(
                String(Substring(host)), reason: "something other than a port follows its bracket")
        }
        if digits.isEmpty { return nil }
        var port = 0
        for digit in digits {
            guard digit.isDigit, port <= 65_535 else { port = 0; break }
            port = port * 10 + Int(digit - 0x30)
        }
        guard (1...65_535).contains(port) else {
            throw .invalidPort(String(Substring(digits)), host: String(Substring(host)))
        }
        return port
    }

    // MARK: Hosts

    /// The lengths in bytes that DNS allows for a name and for a label (RFC 1035 §2.3.4).
    private static let nameLimit = 253
    private static let labelLimit = 63

    /// Returns the canonical form of a host.
    ///
    /// - Parameter written: The host as in a URL: percent-encoded, an IPv6 address in brackets.
    static func host(_ written: [UInt8]) throws(OriginError) -> String {
        func invalid(_ reason: String) -> OriginError {
            .invalidHost(String(decoding: written, as: UTF8.self), reason: reason)
        }
        if written.first == UInt8(ascii: "[") {
            return try ipv6(written, invalid)
        }
        var name = written
        if !written.allSatisfy(isPlain) {
            guard let decoded = String(decoding: written, as: UTF8.self).percentDecodedBytes else {
                throw invalid("a '%' is not followed by two hexadecimal digits")
            }
            name = decoded
            if name.contains(where: { $0 >= 0x80 }) { name = try converted(name, invalid) }
            name = name.map(\.lowercased)
            if let odd = name.first(where: { !isPlain($0) }) {
                throw invalid("a host has no \(shown(odd))")
            }
        }
        // The dot at the end only prevents search domains: it names the same server.
        let isAbsolute = name.last == UInt8(ascii: ".")
        if isAbsolute { name.removeLast() }
        guard !name.isEmpty else { throw invalid("it is empty") }
        guard name.count <= nameLimit else {
            throw invalid("it has \(name.count) bytes, a name has \(nameLimit) at most")
        }
        let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        for label in labels where label.isEmpty || label.count > labelLimit {
            throw invalid(
                label.isEmpty
                    ? "it has an empty label"
                    : "it has a label of \(label.count) bytes, a label has \(labelLimit) at most")
        }
        if let last = labels.last, isNumber(last) {
            guard !isAbsolute, let address = ipv4(labels) else {
                throw invalid("it ends with a number, but is not an IPv4 address")
            }
            return address
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether a canonical name may contain a byte.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func shown(_ byte: UInt8) -> String {
        (0x21...0x7E).contains(byte)
            ? "'\(Character(Unicode.Scalar(byte)))'" : "byte 0x\(String(byte, radix: 16))"
    }

    private static func converted(
        _ name: [UInt8], _ invalid: (String) -> OriginError
    ) throws(OriginError) -> [UInt8] {
        guard let text = String(validating: name, as: UTF8.self) else {
            throw invalid("it is not UTF-8")
        }
        guard !name.contains(0) else { throw invalid("a host has no byte 0x0") }
        do throws(HostForm.Failure) {
            return Array(try HostForm.ascii(text).utf8)
        } catch {
            throw invalid("it is no internationalized name: \(error.reason)")
        }
    }

    // MARK: IP addresses

    /// Whether a label consists of digits, or of `0x` and hexadecimal digits.
    ///
    /// A host whose last label does must be an IPv4 address.
    private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
        if label.starts(with: "0x".utf8) {
            return label.dropFirst(2).allSatisfy { $0.hexValue != nil }
        }
        return label.allSatisfy(\.isDigit)
    }

    /// Returns an IPv4 address as four decimal numbers; `nil` if the labels are none.
    ///
    /// Reads labels as `inet_aton` does: one to four decimal, octal or hexadecimal numbers, the
    /// last of which fills the remaining bytes.
    private static func ipv4(_ labels: [ArraySlice<UInt8>]) -> String? {
        guard labels.count <= 4 else { return nil }
        var address: UInt64 = 0
        for (index, label) in labels.enumerated() {
            guard let number = number(label) else { return nil }
            let isLast = index == labels.count - 1
            let bits = isLast ? UInt64(8 * (4 - index)) : 8
            guard number < 1 << bits else { return nil }
            address = address << bits | number
        }
        return (0..<4).map { String(address >> UInt64(24 - 8 * $0) & 255) }.joined(separator: ".")
    }

    private static func number(_ label: ArraySlice<UInt8>) -> UInt64? {
        var digits = label
        var base: UInt64 = 10
        if label.starts(with: "0x".utf8) {
            digits = label.dropFirst(2)
            base = 16
        } else if label.first == UInt8(ascii: "0"), label.count > 1 {
            digits = label.dropFirst()
            base = 8
        }
        guard !digits.isEmpty else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard let value = digit.hexValue.map(UInt64.init), value < base, number <= 1 << 32
            else { return nil }
            number = number * base + value
        }
        return number
    }

    /// The longest zone that libcurl accepts, in bytes.
    private static let zoneLimit = 15

    /// Parses an IPv6 address in brackets, with or without a zone after `%25` or `%` (RFC 6874).
    private static func ipv6(
        _ written: [UInt8], _ invalid: (String) -> OriginError
    ) throws(OriginError) -> String {
        guard written.last == UInt8(ascii: "]") else { throw invalid("its bracket is not closed") }
        let inner = written.dropFirst().dropLast()
        let end = inner.firstIndex(of: UInt8(ascii: "%")) ?? inner.endIndex
        let isAddress = inner[..<end].allSatisfy {
            $0.hexValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
        guard isAddress,
            let address = HostForm.ipv6(String(decoding: inner[..<end], as: UTF8.self))
        else { throw invalid("it is not an IPv6 address") }
        guard end < inner.endIndex else { return address }
        var zone = inner[end...].dropFirst()
        if zone.starts(with: "25".utf8) { zone = zone.dropFirst(2) }
        let isZone = zone.allSatisfy { byte in isPlain(byte.lowercased) }
        guard isZone, (1...zoneLimit).contains(zone.count) else {
            throw invalid("its zone is not a name of 1 to \(zoneLimit) letters and digits")
        }
        return "\(address)%\(String(decoding: zone, as: UTF8.self))"
    }
}

extension Origin {
    /// Whether two URLs have the same origin (RFC 6454 §4); `false` if one of them has none.
    package static func isSame(_ a: URL?, _ b: URL?) -> Bool {
        guard let a, let b, let origin = try? Origin(a) else { return false }
        return origin == (try? Origin(b))
    }
}

import OutletHTTP

/// The address of a proxy: `[scheme://][user[:password]@]host[:port]` (`CURLOPT_PROXY`).
package enum ProxyAddress {
    private static let schemes = [
        "http", "https", "socks4", "socks4a", "socks5", "socks5h", "socks",
    ]

    /// The address without user name and password.
    package static func withoutCredentials(_ address: String) -> String {
        let bytes = Array(address.utf8)
        let start = bytes.firstRange(of: Array("://".utf8))?.upperBound ?? 0
        guard let at = bytes[start...].lastIndex(of: UInt8(ascii: "@")) else { return address }
        return String(decoding: bytes[..<start] + bytes[(at + 1)...], as: UTF8.self)
    }

    /// The address, without user name and password, and the reason why it cannot be used; `nil` if
    /// it can.
    ///
    /// Checked before libcurl sees it, because libcurl shows the whole address in its messages.
    ///
    /// - Parameter address: The address as written.
    package static func fault(in address: String) -> String? {
        guard let fact = fact(about: address) else { return nil }
        let isWhole = address.utf8.contains(UInt8(ascii: "@"))
        let hidden = isWhole ? nil : withoutPassword(address)
        let shown = (hidden ?? withoutCredentials(address)).shortened(toBytes: 200)
        // Nothing is shown of an address that is a credential only.
        guard hidden != nil else { return shown.isEmpty ? fact : "\(shown): \(fact)" }
        return
            "\(shown): \(fact); if it is a password, '@' and the proxy's host are missing after it"
    }

    /// The address with a mark in place of all that follows the colon after the host, or of what is in
    /// brackets, where a password is if the host was forgotten; `nil` if that is a port or an address.
    private static func withoutPassword(_ address: String) -> String? {
        let bytes = Array(address.utf8)
        let start = bytes.firstRange(of: Array("://".utf8))?.upperBound ?? 0
        if bytes[start...].first == UInt8(ascii: "[") {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "]")) ?? bytes.endIndex
            guard !isAddress(bytes[(start + 1)..<end]) else { return nil }
            return String(decoding: bytes[...start], as: UTF8.self) + Redaction.standard.mark
        }
        guard let colon = bytes[start...].firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let rest = bytes[(colon + 1)...]
        guard !rest.prefix(while: { !"/?#".utf8.contains($0) }).allSatisfy(\.isDigit) else {
            return nil
        }
        return String(decoding: bytes[...colon], as: UTF8.self) + Redaction.standard.mark
    }

    /// What keeps a user name and a password, in percent-encoding, from being sent to a proxy.
    ///
    /// libcurl connects without the proxy if it cannot decode them, so that this must know all cases:
    /// an encoded control character, for any scheme.
    ///
    /// - Parameters:
    ///   - bytes: The part of the address before the `@`.
    ///   - scheme: The scheme that sends them; `nil` for Basic.
    private static func fault(
        inCredential bytes: ArraySlice<UInt8>, for scheme: AuthenticationScheme?
    ) -> String? {
        func decoded(_ bytes: ArraySlice<UInt8>) -> String {
            String(decoding: percentDecoded(bytes), as: UTF8.self)
        }
        let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        let password = colon.map { bytes[($0 + 1)...] } ?? []
        return Credential(
            user: decoded(bytes[..<(colon ?? bytes.endIndex)]), password: decoded(password),
            scheme: scheme
        ).fault
    }

    /// Whether the text in brackets is an IPv6 address.
    private static func isAddress(_ bytes: ArraySlice<UInt8>) -> Bool {
        (try? Origin.canonicalHost("[\(String(decoding: bytes, as: UTF8.self))]")) != nil
    }

    /// The address with its host in the form that DNS uses, if that is a name outside ASCII.
    package static func withASCIIHost(_ address: String) -> String {
        let bytes = Array(address.utf8)
        let authority = authority(of: bytes)
        let start =
            bytes[authority].lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 }
            ?? authority.lowerBound
        let end =
            bytes[start..<authority.upperBound].lastIndex(of: UInt8(ascii: ":"))
            ?? authority.upperBound
        guard bytes[start..<end].contains(where: { $0 >= 0x80 }),
            let host = try? Origin.canonicalHost(
                String(decoding: bytes[start..<end], as: UTF8.self))
        else { return address }
        return String(decoding: bytes[..<start] + Array(host.utf8) + bytes[end...], as: UTF8.self)
    }

    /// The range of user name, password, host and port.
    private static func authority(of bytes: [UInt8]) -> Range<Int> {
        let start = bytes.firstRange(of: Array("://".utf8))?.upperBound ?? 0
        return start..<(bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex)
    }

    private static func fact(about address: String) -> String? {
        var rest = Array(address.utf8)[...]
        guard !rest.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            return "it has a blank or a control character, which must be percent-encoded"
        }
        let schemeEnd = rest.firstRange(of: Array("://".utf8))
        var isHTTP = true
        if let end = schemeEnd {
            let scheme = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
            guard schemes.contains(where: { $0.equalsIgnoringCase(scheme) }) else {
                return "its scheme is none of http, https, socks4, socks4a, socks5 and socks5h"
            }
            isHTTP = scheme.lowercasedASCII.startsWithBytes(of: "http")
            rest = rest[end.upperBound...]
        }
        rest = rest.prefix { !"/?#".utf8.contains($0) }
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            // The methods of SOCKS send the lengths, so that a colon has no meaning there.
            let fault = fault(inCredential: rest[..<at], for: isHTTP ? nil : .digest)
            if let fault { return fault }
            rest = rest[(at + 1)...]
        }
        var host = rest
        let bracket = rest.lastIndex(of: UInt8(ascii: "]")) ?? rest.startIndex
        if let colon = rest[bracket...].lastIndex(of: UInt8(ascii: ":")) {
            host = rest[..<colon]
            let digits = rest[(colon + 1)...]
            let port = Int(String(decoding: digits, as: UTF8.self)) ?? 0
            guard
                digits.allSatisfy(\.isDigit) && (1...65_535).contains(port)
                    || digits.isEmpty && schemeEnd != nil
            else { return "its port is not a number from 1 to 65535" }
        }
        if host.isEmpty { return "it has no host" }
        let isAddress = host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]")
        let name = isAddress ? host.dropFirst().dropLast() : host
        let isName = !name.contains { "[]{}<>|^`\\\"".utf8.contains($0) }
        guard isName, isAddress ? Self.isAddress(name) : !name.contains(UInt8(ascii: ":")) else {
            return "its host is neither a name nor an address"
        }
        guard name.contains(where: { $0 >= 0x80 }) else { return nil }
        do throws(OriginError) {
            _ = try Origin.canonicalHost(String(decoding: name, as: UTF8.self))
            return nil
        } catch {
            return "its host has no form that DNS knows"
        }
    }
}

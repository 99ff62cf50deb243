package import Glibc

/// An IPv4 or IPv6 address; an IPv4-mapped IPv6 address (`::ffff:0:0/96`) becomes the IPv4 address.
package struct InternetAddress: Sendable, Hashable {
    /// Whether it is an IPv4 address.
    package let isIPv4: Bool
    /// The first 64 bits of an IPv6 address; 0 for IPv4.
    let high: UInt64
    /// The last 64 bits of an IPv6 address; the 32 bits of an IPv4 address.
    let low: UInt64

    /// Makes an IPv4 address from its 32 bits, the first byte in the highest ones.
    init(ipv4: UInt32) {
        isIPv4 = true
        high = 0
        low = UInt64(ipv4)
    }

    private init(high: UInt64, low: UInt64) {
        let isMapped = high == 0 && low >> 32 == 0xFFFF
        isIPv4 = isMapped
        self.high = high
        self.low = isMapped ? low & 0xFFFF_FFFF : low
    }

    /// Parses an address (`inet_pton`); IPv6 also in brackets and with a zone, which is dropped.
    ///
    /// - Returns: `nil` if the text is no address.
    package init?(_ text: String) {
        var bytes = text.utf8[...]
        if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") {
            bytes = bytes.dropFirst().dropLast()
        }
        if bytes.contains(UInt8(ascii: ":")), let zone = bytes.firstIndex(of: UInt8(ascii: "%")) {
            bytes = bytes[..<zone]
        }
        let text = String(Substring(bytes))
        var ipv4 = in_addr()
        var ipv6 = in6_addr()
        if inet_pton(AF_INET, text, &ipv4) == 1 {
            self.init(ipv4: UInt32(bigEndian: ipv4.s_addr))
        } else if inet_pton(AF_INET6, text, &ipv6) == 1 {
            self = withUnsafeBytes(of: &ipv6) { Self(ipv6: $0) }
        } else {
            return nil
        }
    }

    /// Converts a socket address; `nil` for families other than IPv4 and IPv6.
    package init?(_ address: UnsafePointer<sockaddr>) {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let bytes = raw.loadUnaligned(as: sockaddr_in.self)
            self.init(ipv4: UInt32(bigEndian: bytes.sin_addr.s_addr))
        case AF_INET6:
            var bytes = raw.loadUnaligned(as: sockaddr_in6.self)
            self = withUnsafeBytes(of: &bytes.sin6_addr) { Self(ipv6: $0) }
        default: return nil
        }
    }

    private init(ipv6 bytes: UnsafeRawBufferPointer) {
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// Whether the first `bits` bits are equal to those of a network of the same family.
    package func isInside(_ network: InternetAddress, bits: Int) -> Bool {
        guard isIPv4 == network.isIPv4, (0...(isIPv4 ? 32 : 128)).contains(bits) else {
            return false
        }
        if isIPv4 { return Self.agree(low << 32, network.low << 32, bits) }
        return Self.agree(high, network.high, min(bits, 64))
            && Self.agree(low, network.low, max(0, bits - 64))
    }

    private static func agree(_ one: UInt64, _ other: UInt64, _ bits: Int) -> Bool {
        bits == 0 || (one ^ other) >> (64 - UInt64(bits)) == 0
    }

    /// The IPv4 addresses that an IPv6 address contains: those of 6to4, Teredo, NAT64, ISATAP, and
    /// of IPv4-compatible and IPv4-translated addresses.
    ///
    /// Packets to such an address may be forwarded to the IPv4 address.
    var embedded: [InternetAddress] {
        guard !isIPv4 else { return [] }
        let last = InternetAddress(ipv4: UInt32(truncatingIfNeeded: low))
        // 6to4 (RFC 3056).
        if high >> 48 == 0x2002 {
            return [InternetAddress(ipv4: UInt32(truncatingIfNeeded: high >> 16))]
        }
        // Teredo (RFC 4380): the server, and the client with its bits inverted.
        if high >> 32 == 0x2001_0000 {
            return [
                InternetAddress(ipv4: UInt32(truncatingIfNeeded: high)),
                InternetAddress(ipv4: ~UInt32(truncatingIfNeeded: low)),
            ]
        }
        // NAT64 (RFC 6052), compatible (RFC 4291 §2.5.5.1), translated (RFC 2765).
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return [last] }
        if high == 0, low > 1, low >> 32 == 0 || low >> 32 == 0xFFFF_0000 { return [last] }
        // ISATAP (RFC 5214).
        if low >> 32 == 0x5EFE || low >> 32 == 0x0200_5EFE { return [last] }
        return []
    }
}

extension InternetAddress: CustomStringConvertible {
    /// The text form that `inet_ntop` produces.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        if isIPv4 {
            var address = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
            inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
        } else {
            var halves = (high.bigEndian, low.bigEndian)
            inet_ntop(AF_INET6, &halves, &text, socklen_t(text.count))
        }
        return text.withUnsafeBufferPointer { text in
            text.baseAddress.map { String(cString: $0) } ?? ""
        }
    }
}

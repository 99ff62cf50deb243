/// Which ASCII characters percent-encoding leaves alone; all others become `%XX`.
///
/// Characters beyond ASCII are always encoded, byte by byte of their UTF-8 (RFC 3986 §2.5).
public struct AllowedCharacters: Sendable, Equatable, Hashable {
    /// Bit n stands for the character of code n.
    private var bits: (low: UInt64, high: UInt64) = (0, 0)

    /// No characters.
    public init() {}

    /// The ASCII characters of a text; others in it have no effect.
    public init(charactersIn text: String) {
        insert(charactersIn: text)
    }

    /// Letters, digits and `-._~` (RFC 3986 §2.3).
    public static let unreserved = AllowedCharacters(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    /// What a query may hold as a whole (RFC 3986 §3.4): unreserved, delimiters, `:@/?`.
    public static let urlQueryAllowed = unreserved.union(
        AllowedCharacters(charactersIn: "!$&'()*+,;=:@/?"))

    /// What a key or value within a query keeps: unreserved, `/` and `?`.
    ///
    /// ``urlQueryAllowed`` without the delimiters that servers give a meaning of their own.
    public static let urlQueryComponentAllowed = unreserved.union(
        AllowedCharacters(charactersIn: "/?"))

    /// Adds the ASCII characters of a text.
    public mutating func insert(charactersIn text: String) {
        for byte in text.utf8 where byte < 128 {
            if byte < 64 { bits.low |= 1 << byte } else { bits.high |= 1 << (byte - 64) }
        }
    }

    /// Removes the ASCII characters of a text.
    public mutating func remove(charactersIn text: String) {
        for byte in text.utf8 where byte < 128 {
            if byte < 64 { bits.low &= ~(1 << byte) } else { bits.high &= ~(1 << (byte - 64)) }
        }
    }

    /// The characters of either set.
    public func union(_ other: AllowedCharacters) -> AllowedCharacters {
        var union = self
        union.bits.low |= other.bits.low
        union.bits.high |= other.bits.high
        return union
    }

    /// Whether the character with this ASCII code is not encoded.
    public func contains(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<64: bits.low & (1 << byte) != 0
        case 64..<128: bits.high & (1 << (byte - 64)) != 0
        default: false
        }
    }

    /// Equal when the same characters are left alone.
    public static func == (a: AllowedCharacters, b: AllowedCharacters) -> Bool { a.bits == b.bits }

    /// Hashes the characters.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bits.low)
        hasher.combine(bits.high)
    }
}

extension String {
    /// This text with all but the allowed characters percent-encoded, in capital hex digits.
    ///
    /// - Parameters:
    ///   - allowed: What stays as it is.
    ///   - space: What a space becomes.
    public func percentEncoded(
        allowing allowed: AllowedCharacters, space: StaticString = "%20"
    ) -> String {
        var text = self
        return text.withUTF8 { bytes in
            if bytes.allSatisfy(allowed.contains) { return String(decoding: bytes, as: UTF8.self) }
            var encoded: [UInt8] = []
            encoded.reserveCapacity(bytes.count * 3 / 2)
            for byte in bytes {
                if byte == UInt8(ascii: " ") {
                    space.withUTF8Buffer { encoded.append(contentsOf: $0) }
                } else if allowed.contains(byte) {
                    encoded.append(byte)
                } else {
                    encoded.append(UInt8(ascii: "%"))
                    encoded.append(hexDigit(byte >> 4))
                    encoded.append(hexDigit(byte & 15))
                }
            }
            return String(decoding: encoded, as: UTF8.self)
        }
    }
}

private func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
}

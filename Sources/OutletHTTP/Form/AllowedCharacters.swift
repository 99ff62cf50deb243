/// The ASCII characters that percent-encoding keeps; all others become `%XX`.
///
/// Characters outside ASCII are always encoded, each byte of their UTF-8 (RFC 3986 §2.5).
public struct AllowedCharacters: Sendable, Equatable, Hashable {
    /// Bit n, counted across both words, stands for the character with the code n.
    private var bits: (low: UInt64, high: UInt64) = (0, 0)

    /// Makes an empty set: everything is encoded.
    public init() {}

    /// Makes the set of the ASCII characters of a text; other characters are ignored.
    ///
    /// - Parameter text: The characters to keep; those outside ASCII are ignored.
    public init(charactersIn text: String) {
        insert(charactersIn: text)
    }

    /// Letters, digits and `-._~` (RFC 3986 §2.3).
    public static let unreserved = AllowedCharacters(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    /// The characters of a whole query (RFC 3986 §3.4): ``unreserved``, delimiters, and `:@/?`.
    public static let urlQueryAllowed = unreserved.union(
        AllowedCharacters(charactersIn: "!$&'()*+,;=:@/?"))

    /// The characters of a key or value in a query: ``unreserved``, `/` and `?`.
    ///
    /// Unlike ``urlQueryAllowed``, it has no delimiters, because servers split queries at them.
    public static let urlQueryComponentAllowed = unreserved.union(
        AllowedCharacters(charactersIn: "/?"))

    /// Adds the ASCII characters of a text; other characters are ignored.
    ///
    /// - Parameter text: The characters to keep from now on, in any order.
    public mutating func insert(charactersIn text: String) {
        for byte in text.utf8 where byte < 128 {
            if byte < 64 { bits.low |= 1 << byte } else { bits.high |= 1 << (byte - 64) }
        }
    }

    /// Removes the ASCII characters of a text; other characters are ignored.
    ///
    /// - Parameter text: The characters to encode from now on, in any order.
    public mutating func remove(charactersIn text: String) {
        for byte in text.utf8 where byte < 128 {
            if byte < 64 { bits.low &= ~(1 << byte) } else { bits.high &= ~(1 << (byte - 64)) }
        }
    }

    /// Returns the characters of both sets.
    ///
    /// - Parameter other: The set whose characters are added.
    public func union(_ other: AllowedCharacters) -> AllowedCharacters {
        var union = self
        union.bits.low |= other.bits.low
        union.bits.high |= other.bits.high
        return union
    }

    /// Whether a byte is kept; `false` for all bytes above 0x7F.
    ///
    /// - Parameter byte: The ASCII code of a character, or a byte of its UTF-8.
    public func contains(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<64: bits.low & (1 << byte) != 0
        case 64..<128: bits.high & (1 << (byte - 64)) != 0
        default: false
        }
    }

    /// Whether both sets have the same characters.
    public static func == (a: AllowedCharacters, b: AllowedCharacters) -> Bool { a.bits == b.bits }

    /// Hashes the characters.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bits.low)
        hasher.combine(bits.high)
    }
}

extension String {
    /// Returns the text with all but the allowed characters percent-encoded, in upper-case digits.
    ///
    /// - Parameters:
    ///   - allowed: The characters to keep.
    ///   - space: The replacement of a space, unless all characters of the text are allowed.
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
                    encoded.appendEscape(of: byte)
                }
            }
            return String(decoding: encoded, as: UTF8.self)
        }
    }
}

extension [UInt8] {
    /// Appends `%` and the two upper-case digits of a byte (RFC 3986 §2.1).
    mutating func appendEscape(of byte: UInt8) {
        append(UInt8(ascii: "%"))
        append(hexDigit(byte >> 4))
        append(hexDigit(byte & 15))
    }
}

private func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
}

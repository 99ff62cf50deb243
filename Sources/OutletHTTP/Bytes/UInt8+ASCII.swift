/// What a byte of protocol text is; bytes from 0x80 on are none of these.
extension UInt8 {
    /// A space or a tab (RFC 9110 §5.6.3).
    @inlinable package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// A control character, DEL included.
    @inlinable package var isControl: Bool { self < 0x20 || self == 0x7F }

    /// One of `0` to `9`.
    @inlinable package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// One of `A` to `Z` and `a` to `z`.
    @inlinable package var isAlpha: Bool {
        let lower = self | 0x20
        return lower >= 0x61 && lower <= 0x7A
    }

    /// The value of a hexadecimal digit of either case.
    @inlinable package var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46, 0x61...0x66: (self | 0x20) - 0x61 + 10
        default: nil
        }
    }

    /// Whether a token may hold the byte (RFC 9110 §5.6.2): one bit for each ASCII character.
    @inlinable package var isToken: Bool {
        let bits: UInt64 = self < 64 ? 0x3FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return self < 128 && (bits &>> UInt64(self & 63)) & 1 == 1
    }

    /// The byte with `A` to `Z` in lower case.
    @inlinable package var lowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

/// Compares two texts, `A` to `Z` equal to `a` to `z`.
func asciiEqualsIgnoringCase(
    _ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>
) -> Bool {
    guard a.count == b.count else { return false }
    for index in 0..<a.count where a[index] != b[index] {
        guard a[index].lowercased == b[index].lowercased else { return false }
    }
    return true
}

/// Compares two texts, `A` to `Z` equal to `a` to `z`.
func asciiEqualsIgnoringCase(_ a: String, _ b: String) -> Bool {
    guard a.utf8.count == b.utf8.count else { return false }
    var left = a
    var right = b
    return left.withUTF8 { l in right.withUTF8 { r in asciiEqualsIgnoringCase(l, r) } }
}

/// Whether a text is a token (RFC 9110 §5.6.2).
package func isToken(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in !bytes.isEmpty && bytes.allSatisfy(\.isToken) }
}

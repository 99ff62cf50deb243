/// The classes of ASCII characters that protocols use; bytes above 0x7F belong to none of them.
extension UInt8 {
    /// Whether this is a space or a tab (RFC 9110 §5.6.3).
    @inlinable package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// Whether this is a control character, DEL included.
    @inlinable package var isControl: Bool { self < 0x20 || self == 0x7F }

    /// Whether this is one of `0` to `9`.
    @inlinable package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// Whether this is one of `A` to `Z` and `a` to `z`.
    @inlinable package var isAlpha: Bool {
        let lower = self | 0x20
        return lower >= 0x61 && lower <= 0x7A
    }

    /// The value of a hexadecimal digit of either case; `nil` for other bytes.
    @inlinable package var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46, 0x61...0x66: (self | 0x20) - 0x61 + 10
        default: nil
        }
    }

    /// Whether a token may contain the byte (RFC 9110 §5.6.2).
    @inlinable package var isToken: Bool {
        // One bit for each ASCII character that a token may contain.
        let bits: UInt64 = self < 64 ? 0x3FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return self < 128 && (bits &>> UInt64(self & 63)) & 1 == 1
    }

    /// The byte with `A` to `Z` in lower case.
    @inlinable package var lowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

/// Whether two texts are equal, with `A` to `Z` equal to `a` to `z`.
@usableFromInline package func asciiEqualsIgnoringCase(
    _ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>
) -> Bool {
    guard a.count == b.count else { return false }
    for index in 0..<a.count where a[index] != b[index] {
        guard a[index].lowercased == b[index].lowercased else { return false }
    }
    return true
}

/// Whether two texts are equal, with `A` to `Z` equal to `a` to `z`.
func asciiEqualsIgnoringCase(_ a: String, _ b: String) -> Bool {
    guard a.utf8.count == b.utf8.count else { return false }
    var left = a
    var right = b
    return left.withUTF8 { l in right.withUTF8 { r in asciiEqualsIgnoringCase(l, r) } }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the text equals another one, with `A` to `Z` equal to `a` to `z`.
    @inlinable package func equalsIgnoringCase(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount
            && asciiEqualsIgnoringCase(
                self, UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Whether the text begins with another one, with `A` to `Z` equal to `a` to `z`.
    package func startsIgnoringCase(with text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount
            && UnsafeBufferPointer(start: baseAddress, count: text.utf8CodeUnitCount)
                .equalsIgnoringCase(text)
    }
}

/// Whether a text is a token, which is never empty (RFC 9110 §5.6.2).
package func isToken(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isToken($0) }
}

/// Whether a text is a token, which is never empty (RFC 9110 §5.6.2).
package func isToken(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    !text.isEmpty && text.allSatisfy(\.isToken)
}

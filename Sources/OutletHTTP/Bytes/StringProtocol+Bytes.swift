import Glibc

/// Text that a peer, a file, a plugin or the environment supplies, taken apart by its bytes.
///
/// The operations of the standard library compare `Character`s, which are no unit of any protocol:
/// `/` and a U+FE0F after it are one `Character` that is not `/`; U+037E equals `;` and U+212A
/// equals `K`; `isNewline` holds for U+2028 and U+0085; `lowercased()` makes `k` of U+212A. Two
/// strings are equal when they are canonically equivalent, whatever their bytes.
///
/// All separators are ASCII characters, so that every part is whole UTF-8 again. No case conversion
/// touches anything but `A` to `Z`.
///
/// Inlinable: other modules would call them through witness tables else, which costs ten times as much
/// (`Benchmarks/count cookie`).
extension StringProtocol {
    // MARK: Taking apart

    /// The text between separators, empty parts included; at least one.
    ///
    /// - Parameters:
    ///   - separator: An ASCII character.
    ///   - maxSplits: How often to split at most; the last part has the rest.
    @inlinable package func parts(
        separatedBy separator: Unicode.Scalar, maxSplits: Int = .max
    ) -> [Substring] {
        let separator = UInt8(ascii: separator)
        return Substring(self).utf8
            .split(
                separator: separator, maxSplits: maxSplits, omittingEmptySubsequences: false
            ).map { Substring($0) }
    }

    /// The text between separators that stand outside of quoted strings (RFC 9110 §5.6.4), without
    /// the blanks around it, empty parts left out.
    ///
    /// A quotation mark without its like is an ordinary character: else it would hide what follows.
    ///
    /// - Parameter separator: An ASCII character.
    package func listItems(separatedBy separator: Unicode.Scalar = ",") -> [Substring] {
        let separator = UInt8(ascii: separator)
        let text = Substring(self)
        var scanner = ByteScanner(text)
        var items: [Substring] = []
        var start = text.startIndex
        var hasQuotedStrings = true
        while true {
            let byte = scanner.peek
            if byte == UInt8(ascii: "\""), hasQuotedStrings {
                hasQuotedStrings = scanner.skipQuotedString()
                if hasQuotedStrings { continue }
            }
            if byte == nil || byte == separator {
                let item = text[start..<scanner.position].trimmingBlanks
                if !item.isEmpty { items.append(item) }
                guard byte != nil else { return items }
            }
            scanner.skip()
            if byte == separator { start = scanner.position }
        }
    }

    /// What stands before and after the first separator; `nil` without one.
    ///
    /// - Parameter separator: An ASCII character.
    @inlinable package func cut(at separator: Unicode.Scalar) -> (head: Substring, tail: Substring)?
    {
        let text = Substring(self)
        guard let index = text.utf8.firstIndex(of: UInt8(ascii: separator)) else { return nil }
        return (text[..<index], Substring(text.utf8[index...].dropFirst()))
    }

    /// What stands before and after the last separator; `nil` without one.
    ///
    /// - Parameter separator: An ASCII character.
    @inlinable package func cutAtLast(_ separator: Unicode.Scalar) -> (
        head: Substring, tail: Substring
    )? {
        let text = Substring(self)
        guard let index = text.utf8.lastIndex(of: UInt8(ascii: separator)) else { return nil }
        return (text[..<index], Substring(text.utf8[index...].dropFirst()))
    }

    /// What stands before and after the first occurrence of these bytes; `nil` without one.
    @inlinable package func cut(around other: some StringProtocol) -> (
        head: Substring, tail: Substring
    )? {
        let text = Substring(self)
        var rest = text.utf8
        while rest.count >= other.utf8.count {
            if rest.starts(with: other.utf8) {
                return (
                    Substring(text.utf8[..<rest.startIndex]),
                    Substring(rest.dropFirst(other.utf8.count))
                )
            }
            guard rest.popFirst() != nil else { return nil }
        }
        return nil
    }

    /// The lines, ended by LF or CRLF and nothing else, empty ones left out.
    @inlinable package var lines: [Substring] {
        Substring(self).utf8.split(separator: UInt8(ascii: "\n")).map { line in
            Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }.filter { !$0.isEmpty }
    }

    /// The text as far as all bytes fulfil a condition.
    @inlinable package func prefix(whileByte predicate: (UInt8) -> Bool) -> Substring {
        Substring(Substring(self).utf8.prefix(while: predicate))
    }

    /// The text without its first `count` bytes, which are ASCII.
    @inlinable package func droppingBytes(_ count: Int) -> Substring {
        Substring(Substring(self).utf8.dropFirst(count))
    }

    /// The text without the spaces and tabs around it.
    @inlinable package var trimmingBlanks: Substring {
        var bytes = Substring(self).utf8
        while bytes.first?.isBlank == true { bytes.removeFirst() }
        while bytes.last?.isBlank == true { bytes.removeLast() }
        return Substring(bytes)
    }

    // MARK: Comparing

    /// Whether the bytes are the same; `==` also holds for texts of other bytes that look alike.
    @inlinable package func hasSameBytes(as other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8)
    }

    /// Whether the bytes are the same, `A` to `Z` equal to `a` to `z`.
    @inlinable package func equalsIgnoringCase(_ other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8) { $0.lowercased == $1.lowercased }
    }

    /// Whether the text begins with these bytes.
    @inlinable package func startsWithBytes(of other: some StringProtocol) -> Bool {
        utf8.starts(with: other.utf8)
    }

    /// Whether the text begins with these bytes, `A` to `Z` equal to `a` to `z`.
    @inlinable package func startsIgnoringCase(with other: some StringProtocol) -> Bool {
        utf8.starts(with: other.utf8) { $0.lowercased == $1.lowercased }
    }

    /// Whether the text ends with these bytes.
    @inlinable package func endsWithBytes(of other: some StringProtocol) -> Bool {
        let count = utf8.count - other.utf8.count
        return count >= 0 && utf8.dropFirst(count).elementsEqual(other.utf8)
    }

    /// Whether an ASCII character is in the text.
    @inlinable package func containsByte(_ byte: Unicode.Scalar) -> Bool {
        utf8.contains(UInt8(ascii: byte))
    }

    /// Whether these bytes are in the text, one after the other.
    @inlinable package func containsBytes(of other: some StringProtocol) -> Bool {
        cut(around: other) != nil
    }

    /// The text with `A` to `Z` in lower case.
    @inlinable package var lowercasedASCII: String {
        String(decoding: utf8.map(\.lowercased), as: UTF8.self)
    }

    // MARK: Reading

    /// Whether the text is one or more of `0` to `9`.
    @inlinable package var isDigits: Bool { !utf8.isEmpty && utf8.allSatisfy(\.isDigit) }

    /// The number that the text is in decimal digits; `nil` when it has anything else, a sign
    /// included, or the number is too large.
    @inlinable package func decimal<Number: FixedWidthInteger>(
        _: Number.Type = Number.self
    ) -> Number? {
        guard isDigits else { return nil }
        return Number(String(self))
    }

    /// The number that the text is in decimal digits, the largest one if it is larger; `nil` when it
    /// has anything else, a sign included.
    @inlinable package func clampedDecimal<Number: FixedWidthInteger>(
        _: Number.Type = Number.self
    ) -> Number? {
        isDigits ? decimal() ?? .max : nil
    }

    /// The bytes after percent-decoding; `nil` if a percent sign has no two hexadecimal digits.
    @inlinable package var percentDecodedBytes: [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(utf8.count)
        var bytes = utf8.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = bytes.next()?.hexValue, let low = bytes.next()?.hexValue else {
                return nil
            }
            decoded.append(high << 4 | low)
        }
        return decoded
    }
}

extension String {
    /// Whether the bytes are the same; compared where they lie, which takes a fraction of reading one by one.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let areSame = utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { theirs in
                guard let a = own.baseAddress, let b = theirs.baseAddress else { return true }
                return memcmp(a, b, own.count) == 0
            }
        }
        return (areSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

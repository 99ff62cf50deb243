import Glibc

/// Operations on the bytes of text from servers, files, plugins and the environment.
///
/// The operations of the standard library compare `Character`s, which no protocol uses: `/`
/// followed by U+FE0F is one `Character` that differs from `/`; U+037E equals `;` and U+212A equals
/// `K`; `isNewline` is true for U+2028 and U+0085; `lowercased()` converts U+212A to `k`. Two
/// strings are equal if they are canonically equivalent, even if their bytes differ.
///
/// All separators are ASCII characters, so that every part is valid UTF-8. Case conversions change
/// only `A` to `Z`.
///
/// The operations are inlinable, because other modules would otherwise call them unspecialised
/// through witness tables: 5 % of the instructions of a request whose cookies are parsed anew
/// (`Benchmarks/tricks inlinable-bytes`).
extension StringProtocol {
    // MARK: Splitting

    /// Returns the parts between separators, empty ones included; always at least one.
    ///
    /// - Parameters:
    ///   - separator: An ASCII character.
    ///   - maxSplits: The largest number of splits; the last part is the rest of the text.
    @inlinable package func parts(
        separatedBy separator: Unicode.Scalar, maxSplits: Int = .max
    ) -> [Substring] {
        let separator = UInt8(ascii: separator)
        return Substring(self).utf8
            .split(
                separator: separator, maxSplits: maxSplits, omittingEmptySubsequences: false
            ).map { Substring($0) }
    }

    /// Returns the non-empty items of a list without the blanks around them.
    ///
    /// Separators in quoted strings (RFC 9110 §5.6.4) do not count. A quotation mark without a
    /// closing one is an ordinary character, so that it cannot hide the items after it.
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

    /// Returns the text before and after the first separator; `nil` without one.
    ///
    /// - Parameter separator: An ASCII character.
    @inlinable package func cut(at separator: Unicode.Scalar) -> (head: Substring, tail: Substring)?
    {
        let text = Substring(self)
        guard let index = text.utf8.firstIndex(of: UInt8(ascii: separator)) else { return nil }
        return (text[..<index], Substring(text.utf8[index...].dropFirst()))
    }

    /// Returns the text before and after the last separator; `nil` without one.
    ///
    /// - Parameter separator: An ASCII character.
    @inlinable package func cutAtLast(_ separator: Unicode.Scalar) -> (
        head: Substring, tail: Substring
    )? {
        let text = Substring(self)
        guard let index = text.utf8.lastIndex(of: UInt8(ascii: separator)) else { return nil }
        return (text[..<index], Substring(text.utf8[index...].dropFirst()))
    }

    /// Returns the text before and after the first occurrence of these bytes; `nil` without one.
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
            rest = rest.dropFirst()
        }
        return nil
    }

    /// The non-empty lines; only LF and CRLF end a line.
    @inlinable package var lines: [Substring] {
        Substring(self).utf8.split(separator: UInt8(ascii: "\n")).map { line in
            Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }.filter { !$0.isEmpty }
    }

    /// Returns the text up to the first byte that does not satisfy a condition.
    @inlinable package func prefix(whileByte predicate: (UInt8) -> Bool) -> Substring {
        Substring(Substring(self).utf8.prefix(while: predicate))
    }

    /// Returns the text without its first `count` bytes, which must be ASCII.
    @inlinable package func droppingBytes(_ count: Int) -> Substring {
        Substring(Substring(self).utf8.dropFirst(count))
    }

    /// The text without the spaces and tabs at its ends.
    @inlinable package var trimmingBlanks: Substring {
        var bytes = Substring(self).utf8
        while bytes.first?.isBlank == true { bytes.removeFirst() }
        while bytes.last?.isBlank == true { bytes.removeLast() }
        return Substring(bytes)
    }

    /// Returns the first bytes of the text, at most `limit`, without a part of a character.
    package func prefix(bytes limit: Int) -> Substring {
        let text = Substring(self)
        guard text.utf8.count > limit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: limit)
        // Goes back over UTF-8 continuation bytes.
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return text[..<end]
    }

    /// Returns the text to show: the first bytes of a longer one, at most `limit`, and "…".
    package func shortened(toBytes limit: Int) -> String {
        utf8.count > limit ? prefix(bytes: limit) + "…" : String(self)
    }

    // MARK: Comparing

    /// Whether the bytes are the same; `==` is also true for canonically equivalent texts.
    @inlinable package func hasSameBytes(as other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8)
    }

    /// Whether the bytes are the same, with `A` to `Z` equal to `a` to `z`.
    @inlinable package func equalsIgnoringCase(_ other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8) { $0.lowercased == $1.lowercased }
    }

    /// Whether the text begins with these bytes.
    @inlinable package func startsWithBytes(of other: some StringProtocol) -> Bool {
        utf8.starts(with: other.utf8)
    }

    /// Whether the text begins with these bytes, with `A` to `Z` equal to `a` to `z`.
    @inlinable package func startsIgnoringCase(with other: some StringProtocol) -> Bool {
        utf8.starts(with: other.utf8) { $0.lowercased == $1.lowercased }
    }

    /// Whether the text ends with these bytes.
    @inlinable package func endsWithBytes(of other: some StringProtocol) -> Bool {
        let count = utf8.count - other.utf8.count
        return count >= 0 && utf8.dropFirst(count).elementsEqual(other.utf8)
    }

    /// Whether the text contains an ASCII character.
    @inlinable package func containsByte(_ byte: Unicode.Scalar) -> Bool {
        utf8.contains(UInt8(ascii: byte))
    }

    /// Whether the text contains these bytes in sequence.
    @inlinable package func containsBytes(of other: some StringProtocol) -> Bool {
        cut(around: other) != nil
    }

    /// The text with `A` to `Z` in lower case.
    @inlinable package var lowercasedASCII: String {
        String(decoding: utf8.map(\.lowercased), as: UTF8.self)
    }

    // MARK: Reading

    /// Whether the text consists of one or more of `0` to `9`.
    @inlinable package var isDigits: Bool { !utf8.isEmpty && utf8.allSatisfy(\.isDigit) }

    /// Returns the number that the text represents in decimal digits.
    ///
    /// - Returns: `nil` if the text contains anything but digits, such as a sign, or the number is
    ///   too large.
    @inlinable package func decimal<Number: FixedWidthInteger>(
        _: Number.Type = Number.self
    ) -> Number? {
        guard isDigits else { return nil }
        return Number(String(self))
    }

    /// Returns the number that the text represents in decimal digits, at most `Number.max`.
    ///
    /// - Returns: `nil` if the text contains anything but digits, such as a sign.
    @inlinable package func clampedDecimal<Number: FixedWidthInteger>(
        _: Number.Type = Number.self
    ) -> Number? {
        isDigits ? decimal() ?? .max : nil
    }

    /// The percent-decoded bytes; `nil` if a `%` is not followed by two hexadecimal digits.
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
    /// Whether the bytes are the same; compares in place with `memcmp`, which is much faster than
    /// byte by byte.
    package func hasSameBytes(as other: String) -> Bool {
        if haveSameBits(self, other) { return true }
        guard utf8.count == other.utf8.count else { return false }
        let areSame = utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { theirs in
                guard let a = own.baseAddress, let b = theirs.baseAddress else { return true }
                return memcmp(a, b, own.count) == 0
            }
        }
        return (areSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }

    /// Whether the text has these bytes in UTF-8; compares in place with `memcmp`.
    package func hasSameBytes(as bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard utf8.count == bytes.count else { return false }
        let areSame = utf8.withContiguousStorageIfAvailable { own in
            guard let a = own.baseAddress, let b = bytes.baseAddress else { return true }
            return memcmp(a, b, own.count) == 0
        }
        return areSame ?? utf8.elementsEqual(bytes)
    }
}

/// Reads protocol text from the start, byte by byte.
///
/// Each method reads the element that it is named after, and nothing if the text does not continue
/// with it.
package struct ByteScanner: Sendable {
    // Not a `Substring`, which cannot begin inside a character, as may happen after ``skip()``.
    private var bytes: Substring.UTF8View

    /// Makes a scanner at the start of a text.
    package init(_ text: some StringProtocol) {
        bytes = Substring(text).utf8
    }

    /// The text that was not read yet.
    package var rest: Substring { Substring(bytes) }

    /// Whether the whole text was read.
    package var isAtEnd: Bool { bytes.isEmpty }

    /// The next byte, which is not consumed; `nil` at the end.
    package var peek: UInt8? { bytes.first }

    /// The index of the next byte in the text.
    package var position: String.Index { bytes.startIndex }

    /// Skips a byte of any value; has no effect at the end.
    package mutating func skip() {
        _ = bytes.popFirst()
    }

    /// Skips an ASCII character if the text continues with it.
    ///
    /// - Returns: Whether the character was skipped.
    package mutating func skip(_ byte: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: byte) else { return false }
        skip()
        return true
    }

    /// Skips spaces and tabs.
    package mutating func skipBlanks() {
        bytes = bytes.drop(while: \.isBlank)
    }

    /// Reads all bytes up to the first one that does not satisfy a condition.
    ///
    /// - Parameter predicate: The condition; must return the same for all bytes above 0x7F, so that
    ///   no character is split.
    package mutating func read(while predicate: (UInt8) -> Bool) -> Substring {
        let found = bytes.prefix(while: predicate)
        bytes = bytes[found.endIndex...]
        return Substring(found)
    }

    /// Reads a token (RFC 9110 §5.6.2); returns an empty text if there is none.
    package mutating func readToken() -> Substring { read(while: \.isToken) }

    /// Reads a quoted string (RFC 9110 §5.6.4).
    ///
    /// - Returns: The content with escapes decoded. `nil` if there is no quoted string or it has no
    ///   end; nothing is read then.
    package mutating func readQuotedString() -> String? {
        let start = bytes
        guard skipQuotedString() else { return nil }
        var text: [UInt8] = []
        var isEscaped = false
        for byte in start[..<bytes.startIndex].dropFirst().dropLast() {
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
            if !isEscaped { text.append(byte) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Skips a quoted string.
    ///
    /// - Returns: Whether one was skipped; `false` also if it has no end.
    package mutating func skipQuotedString() -> Bool {
        guard peek == UInt8(ascii: "\"") else { return false }
        var rest = bytes.dropFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") {
                bytes = rest
                return true
            }
            if byte == UInt8(ascii: "\\") { _ = rest.popFirst() }
        }
        return false
    }

    /// Reads `name=value` or `name` from a list item, to the end of the text.
    ///
    /// Omits the blanks around name and value. If the value begins with a quoted string, it is that
    /// string, and text after it is ignored; otherwise it is the rest of the text.
    ///
    /// - Returns: The name as written, and the value; `nil` for the value if there is no `=`.
    package mutating func readParameter() -> (name: Substring, value: String?) {
        let name = read { $0 != UInt8(ascii: "=") }.trimmingBlanks
        guard skip("=") else { return (name, nil) }
        skipBlanks()
        let value = readQuotedString() ?? String(rest.trimmingBlanks)
        bytes = bytes[bytes.endIndex...]
        return (name, value)
    }
}

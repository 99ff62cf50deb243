/// Reads protocol text from the left, byte by byte.
///
/// Each method reads as far as what it is named after goes, and nothing when that is not there.
package struct ByteScanner: Sendable {
    // Not a `Substring`: that cannot begin inside of a character, where ``skip()`` may lead.
    private var bytes: Substring.UTF8View

    /// Begins at the start of a text.
    package init(_ text: some StringProtocol) {
        bytes = Substring(text).utf8
    }

    /// What has not been read.
    package var rest: Substring { Substring(bytes) }

    /// Whether all has been read.
    package var isAtEnd: Bool { bytes.isEmpty }

    /// The next byte; it stays there.
    package var peek: UInt8? { bytes.first }

    /// Where the next byte is, as an index of the text.
    package var position: String.Index { bytes.startIndex }

    /// Skips a byte, whatever it is.
    package mutating func skip() {
        _ = bytes.popFirst()
    }

    /// Skips an ASCII character.
    ///
    /// - Returns: Whether it was there.
    package mutating func skip(_ byte: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: byte) else { return false }
        skip()
        return true
    }

    /// Skips spaces and tabs.
    package mutating func skipBlanks() {
        bytes = bytes.drop(while: \.isBlank)
    }

    /// Reads as far as the bytes fulfil a condition.
    ///
    /// - Parameter predicate: The same for all bytes from 0x80 on, so that no character is split.
    package mutating func read(while predicate: (UInt8) -> Bool) -> Substring {
        let found = bytes.prefix(while: predicate)
        bytes = bytes[found.endIndex...]
        return Substring(found)
    }

    /// Reads a token (RFC 9110 §5.6.2); empty when there is none.
    package mutating func readToken() -> Substring { read(while: \.isToken) }

    /// Reads a quoted string (RFC 9110 §5.6.4), without its quotation marks and backslashes.
    ///
    /// - Returns: `nil`, with nothing read, when there is none or it does not end.
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
    /// - Returns: Whether it was there; nothing is skipped when it does not end.
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

    /// Reads `name=value` or `name` to the end of the text, blanks around both left out.
    ///
    /// For an item of a list. A value that begins with a quoted string is that string; any other
    /// is all that is left.
    ///
    /// - Returns: The name as written, and the value.
    package mutating func readParameter() -> (name: Substring, value: String?) {
        let name = read { $0 != UInt8(ascii: "=") }.trimmingBlanks
        guard skip("=") else { return (name, nil) }
        skipBlanks()
        let value = readQuotedString() ?? String(rest.trimmingBlanks)
        bytes = bytes[bytes.endIndex...]
        return (name, value)
    }
}

/// Makes untrusted text safe to write to a terminal: replaces what would act on the terminal with a
/// visible form.
///
/// Replaces control characters, so that no escape sequence (ESC, CSI and OSC, their C1 forms
/// included) remains, characters that reorder or hide text, and bytes that are not UTF-8. Keeps LF,
/// tabs and CRLF.
///
/// Accepts the text in pieces, and keeps at most four bytes between two pieces.
package struct TerminalText: Sendable {
    private var decoder = UTF8Decoder()
    /// Whether the last byte was a CR, which is kept if the next byte is LF.
    private var holdsReturn = false

    package init() {}

    /// Converts a piece of text.
    ///
    /// - Parameters:
    ///   - bytes: The piece, which may end within a character.
    ///   - output: The safe text is appended here.
    package mutating func append(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            if holdsReturn { releaseReturn(isLineEnd: bytes[index] == 0x0A, to: &output) }
            if decoder.isEmpty {
                let start = index
                while index < bytes.count, Self.isPlain(bytes[index]) { index += 1 }
                output.append(contentsOf: bytes[start..<index])
                guard index < bytes.count else { return }
            }
            switch decoder.take(bytes[index]) {
            case .more: index += 1
            case .scalar("\r"):
                holdsReturn = true
                index += 1
            case .scalar(let scalar):
                Self.write(scalar, to: &output)
                index += 1
            case .invalid(let held):
                for byte in held { Self.write(invalid: byte, to: &output) }
                // The byte that ended an incomplete character may begin the next one.
                guard held.isEmpty else { continue }
                Self.write(invalid: bytes[index], to: &output)
                index += 1
            }
        }
    }

    /// Ends the text: writes the bytes kept from the last piece.
    package mutating func finish(to output: inout [UInt8]) {
        if holdsReturn { releaseReturn(isLineEnd: false, to: &output) }
        for byte in decoder.finish() { Self.write(invalid: byte, to: &output) }
    }

    /// Returns a whole text in a form that is safe to write to a terminal.
    package static func visible(_ text: String) -> String {
        var text = text
        return text.withUTF8 { bytes in
            guard !bytes.allSatisfy({ isPlain($0) }) else {
                return String(decoding: bytes, as: UTF8.self)
            }
            var writer = TerminalText()
            var output: [UInt8] = []
            writer.append(UnsafeRawBufferPointer(bytes), to: &output)
            writer.finish(to: &output)
            return String(decoding: output, as: UTF8.self)
        }
    }

    /// Returns a whole text on one line, as ``visible(_:)`` with line ends and tabs replaced too.
    package static func visibleLine(_ text: String) -> String {
        let text = visible(text)
        guard text.utf8.contains(where: { $0 < 0x20 }) else { return text }
        var line: [UInt8] = []
        for byte in text.utf8 {
            if byte < 0x20 { line += [UInt8(ascii: "^"), byte ^ 0x40] } else { line.append(byte) }
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Whether a character may act on a terminal, or reorder or hide other characters.
    ///
    /// These are C0, DEL and C1 control characters, line separators, bidirectional controls
    /// (UAX #9), zero-width and other invisible format characters, and tags.
    package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00..<0x20, 0x7F...0x9F: true
        case 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F: true
        case 0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F: true
        default: false
        }
    }

    private mutating func releaseReturn(isLineEnd: Bool, to output: inout [UInt8]) {
        holdsReturn = false
        if isLineEnd { output.append(0x0D) } else { Self.write("\r", to: &output) }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20..<0x7F).contains(byte) || byte == 0x0A || byte == 0x09
    }

    private static func write(_ scalar: Unicode.Scalar, to output: inout [UInt8]) {
        guard isUnsafe(scalar) else {
            output.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
            return
        }
        // The notation of `cat -v` and `less`: `^[` for ESC.
        if scalar.value < 0x80 {
            output += [UInt8(ascii: "^"), UInt8(truncatingIfNeeded: scalar.value) ^ 0x40]
        } else {
            let digits = String(scalar.value, radix: 16, uppercase: true)
            let zeros = String(repeating: "0", count: max(0, 4 - digits.utf8.count))
            output += "<U+\(zeros)\(digits)>".utf8
        }
    }

    private static func write(invalid byte: UInt8, to output: inout [UInt8]) {
        output += "<\(String(byte, radix: 16, uppercase: true))>".utf8
    }
}

/// Decodes UTF-8 byte by byte (RFC 3629 §4).
package struct UTF8Decoder: Sendable {
    /// The result of decoding a byte.
    package enum Result: Equatable {
        /// The character is not complete yet.
        case more
        /// The byte completes a character.
        case scalar(Unicode.Scalar)
        /// The text is not UTF-8; the value contains the bytes of an incomplete character.
        ///
        /// If there are any, the byte itself was not consumed and must be passed again. If there
        /// are none, the byte itself is invalid.
        case invalid([UInt8])
    }

    private var held: [UInt8] = []
    private var length = 0

    package init() {}

    /// Whether the last character is complete.
    package var isEmpty: Bool { held.isEmpty }

    /// Decodes a byte.
    package mutating func take(_ byte: UInt8) -> Result {
        if held.isEmpty {
            switch byte {
            case 0x00...0x7F: return .scalar(Unicode.Scalar(byte))
            case 0xC2...0xDF: length = 2
            case 0xE0...0xEF: length = 3
            case 0xF0...0xF4: length = 4
            default: return .invalid([])
            }
            held = [byte]
            return .more
        }
        guard continuation.contains(byte) else { return .invalid(finish()) }
        held.append(byte)
        guard held.count == length else { return .more }
        var value = UInt32(held[0]) & (0x7F >> UInt32(length))
        for byte in held.dropFirst() { value = value << 6 | UInt32(byte & 0x3F) }
        held = []
        return Unicode.Scalar(value).map { .scalar($0) } ?? .invalid([])
    }

    /// Decodes a byte and returns whether the text may still be UTF-8.
    package mutating func accepts(_ byte: UInt8) -> Bool {
        if case .invalid = take(byte) { false } else { true }
    }

    /// Ends the text.
    ///
    /// - Returns: The bytes of an incomplete character; empty if there is none.
    package mutating func finish() -> [UInt8] {
        defer { held = [] }
        return held
    }

    /// The range of the next byte, which excludes overlong forms, surrogates and values above
    /// U+10FFFF.
    private var continuation: ClosedRange<UInt8> {
        switch (held.count, held[0]) {
        case (1, 0xE0): 0xA0...0xBF
        case (1, 0xED): 0x80...0x9F
        case (1, 0xF0): 0x90...0xBF
        case (1, 0xF4): 0x80...0x8F
        default: 0x80...0xBF
        }
    }
}

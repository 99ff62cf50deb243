/// Text of foreign origin for a terminal: what would act on the terminal is written visibly.
///
/// Escape sequences (ESC, CSI and OSC, their C1 forms included), other control characters, marks
/// that reorder or hide text, and bytes that are not UTF-8 never pass as they are. A line feed, a tab
/// and the carriage return of a CRLF do.
///
/// Fed piece by piece, it keeps at most four bytes between two pieces.
package struct TerminalText: Sendable {
    private var decoder = UTF8Decoder()
    /// A carriage return was the last byte, and what follows is not known.
    private var holdsReturn = false

    package init() {}

    /// Takes a piece of text.
    ///
    /// - Parameters:
    ///   - bytes: The piece, which may end within a character.
    ///   - output: Gets what is safe to write to a terminal.
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
                // The byte that ended a torn character may begin the next one.
                guard held.isEmpty else { continue }
                Self.write(invalid: bytes[index], to: &output)
                index += 1
            }
        }
    }

    /// Takes the end of the text.
    package mutating func finish(to output: inout [UInt8]) {
        if holdsReturn { releaseReturn(isLineEnd: false, to: &output) }
        for byte in decoder.finish() { Self.write(invalid: byte, to: &output) }
    }

    /// A whole text, safe to write to a terminal.
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

    /// A whole text on one line: line ends and tabs are written visibly, too.
    package static func visibleLine(_ text: String) -> String {
        let text = visible(text)
        guard text.utf8.contains(where: { $0 < 0x20 }) else { return text }
        var line: [UInt8] = []
        for byte in text.utf8 {
            if byte < 0x20 { line += [UInt8(ascii: "^"), byte ^ 0x40] } else { line.append(byte) }
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Whether a character may act on a terminal, or change the order or the look of others.
    ///
    /// C0 and DEL, C1, the line separators, and Unicode's bidirectional controls (UAX #9), zero-width
    /// characters, tags and private uses that only serve to hide text.
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
        // As `cat -v` and `less` do.
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
    /// What a byte came to.
    package enum Result: Equatable {
        /// The character goes on.
        case more
        /// A character is complete.
        case scalar(Unicode.Scalar)
        /// Not UTF-8: the bytes before it that belong to no character. If there are any, the byte
        /// itself was not taken, and has to be given again; if there are none, it is the fault.
        case invalid([UInt8])
    }

    private var held: [UInt8] = []
    private var length = 0

    package init() {}

    /// Whether no character has begun.
    package var isEmpty: Bool { held.isEmpty }

    /// Takes a byte.
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

    /// Takes a byte, and says whether the text may still be UTF-8.
    package mutating func accepts(_ byte: UInt8) -> Bool {
        if case .invalid = take(byte) { false } else { true }
    }

    /// Takes the end of the text.
    ///
    /// - Returns: The bytes of a character that did not become complete.
    package mutating func finish() -> [UInt8] {
        defer { held = [] }
        return held
    }

    /// What may follow, so that nothing is longer than it need be, a surrogate or above U+10FFFF.
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

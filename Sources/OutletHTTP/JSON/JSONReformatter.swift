package import FoundationEssentials

/// Reformats JSON while it arrives; memory does not grow with the length of the text.
///
/// Keeps the order of members and the text of numbers. In strings, characters that are safe on a
/// terminal (see ``TerminalText/isUnsafe(_:)``) are written as they are, others as `\u` escapes,
/// however the input writes them.
///
/// A state machine without I/O: its state is what may come next, the open containers and the
/// current token. It accepts the same texts as ``JSONValue/init(parsing:maximumDepth:)``, and those
/// with half of a surrogate pair (RFC 8259 §8.2), whose escape is written as it is.
package struct JSONReformatter: Sendable {
    /// The layout of the output.
    package enum Layout: Sendable, Equatable {
        /// No line breaks and spaces.
        case compact
        /// One line for each member and element, indented by this number of spaces for each level.
        case indented(Int)
    }

    /// What may come next outside a token.
    private enum Expectation {
        case value
        /// A value, or the end of an empty array.
        case firstElement
        /// A name, or the end of an empty object.
        case firstName
        case name
        case colon
        /// A comma, or the end of the container.
        case separator
        /// Nothing but white space.
        case end
    }

    private enum Token {
        case none
        case string(StringPart)
        case number(NumberPart)
        /// A literal, and the number of its bytes that were read.
        case literal(StaticString, Int)
    }

    private enum StringPart {
        case text
        /// After a backslash.
        case escape
        /// After `\u`: the digits read, their value, and the high surrogate before them, if any.
        case hex(digits: Int, value: UInt32, high: UInt32?)
        /// After a high surrogate, or after the backslash that follows it.
        case low(high: UInt32, hasBackslash: Bool)
    }

    /// The part of a number that was read last (RFC 8259 §6).
    private enum NumberPart {
        case minus, zero, integer, point, fraction, exponent, sign, power

        var isComplete: Bool {
            switch self {
            case .zero, .integer, .fraction, .power: true
            case .minus, .point, .exponent, .sign: false
            }
        }
    }

    private enum Container { case array, object }

    private let layout: Layout
    private let palette: JSONPalette?
    private let maximumDepth: Int

    private var expected = Expectation.value
    private var token = Token.none
    private var containers: [Container] = []
    private var isName = false
    private var decoder = UTF8Decoder()
    /// One byte of the white space after the value, a line feed if it has one; `nil` for none.
    private var space: UInt8?
    /// The bytes of a byte order mark that may still follow at the beginning.
    private var mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private var offset = 0
    private var line = 1
    private var lineStart = 0

    /// The bytes that were read but not written: a part of a literal, an escape, a character or a
    /// byte order mark.
    ///
    /// After an error, the ``unread`` bytes follow them in the text. If there is a second value, they are
    /// one byte of the white space before it: a line feed if it has one.
    package private(set) var held: [UInt8] = []
    /// The number of bytes of the last piece that were not read; 0 unless there was an error.
    package private(set) var unread = 0

    /// Makes a reformatter for one text.
    ///
    /// - Parameters:
    ///   - layout: The layout of the output.
    ///   - palette: The escape sequences for each kind of token; `nil` for none.
    ///   - maximumDepth: How deep arrays and objects may be nested.
    package init(layout: Layout, palette: JSONPalette? = nil, maximumDepth: Int = 512) {
        self.layout = layout
        self.palette = palette
        self.maximumDepth = maximumDepth
    }

    /// Reads a piece of the text.
    ///
    /// The colours are reset at the end of every piece. A token that continues in the next piece is
    /// coloured again there.
    ///
    /// - Parameters:
    ///   - bytes: The piece, which may end anywhere.
    ///   - output: The reformatted text is appended here, except for ``held``.
    /// - Throws: ``JSONSyntaxError``; the reformatter must not be used afterwards.
    package mutating func append(
        _ bytes: some ContiguousBytes, to output: inout [UInt8]
    ) throws(JSONSyntaxError) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(JSONSyntaxError) in try append(bytes, to: &output) }
        }
        try result.get()
    }

    private mutating func append(
        _ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]
    ) throws(JSONSyntaxError) {
        guard !bytes.isEmpty else { return }
        if let colour { output += colour.utf8 }
        defer { if colour != nil, let palette { output += palette.reset.utf8 } }
        var index = 0
        while index < bytes.count {
            if case .string(.text) = token, held.isEmpty {
                let start = index
                while index < bytes.count, Self.isPlain(bytes[index]) { index += 1 }
                output.append(contentsOf: bytes[start..<index])
                offset += index - start
                guard index < bytes.count else { return }
            }
            unread = bytes.count - index
            try take(bytes[index], to: &output)
            index += 1
        }
        unread = 0
    }

    /// Ends the text.
    ///
    /// - Throws: ``JSONSyntaxError`` with ``JSONSyntaxError/Reason/unexpectedEnd`` if the value is
    ///   not complete.
    package mutating func finish() throws(JSONSyntaxError) {
        unread = 0
        if case .number(let part) = token, part.isComplete { endToken() }
        guard case .none = token, case .end = expected else { throw fault(.unexpectedEnd) }
    }

    // MARK: Bytes

    private mutating func take(_ byte: UInt8, to output: inout [UInt8]) throws(JSONSyntaxError) {
        switch token {
        case .none: return try takeStructure(byte, to: &output)
        case .string(let part): try takeString(byte, part, to: &output)
        case .literal(let word, let count): try takeLiteral(byte, word, count, to: &output)
        case .number(let part):
            if let next = Self.next(part, byte) {
                token = .number(next)
                output.append(byte)
            } else {
                guard part.isComplete else { throw unexpected(byte, "a digit") }
                endToken(to: &output)
                return try takeStructure(byte, to: &output)
            }
        }
        advance(byte)
    }

    private mutating func advance(_ byte: UInt8) {
        offset += 1
        guard byte == 0x0A else { return }
        line += 1
        lineStart = offset
    }

    private mutating func takeStructure(
        _ byte: UInt8, to output: inout [UInt8]
    ) throws(JSONSyntaxError) {
        if mark.first == byte, offset + mark.count == 3 {
            mark.removeFirst()
            held = mark.isEmpty ? [] : held + [byte]
            offset += 1
            return
        }
        guard held.isEmpty else {
            throw JSONSyntaxError(
                reason: .unexpectedByte(held[0], expected: "a value"), offset: 0, line: 1, column: 1
            )
        }
        if byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            if case .end = expected, space != 0x0A { space = byte }
            return advance(byte)
        }
        switch (expected, byte) {
        case (.firstElement, UInt8(ascii: "]")), (.firstName, UInt8(ascii: "}")):
            close(byte, isEmpty: true, to: &output)
        case (.separator, UInt8(ascii: "]")) where containers.last == .array,
            (.separator, UInt8(ascii: "}")) where containers.last == .object:
            close(byte, isEmpty: false, to: &output)
        case (.separator, UInt8(ascii: ",")):
            output.append(byte)
            breakLine(to: &output)
            expected = containers.last == .object ? .name : .value
        case (.colon, UInt8(ascii: ":")):
            output.append(byte)
            if layout != .compact { output.append(0x20) }
            expected = .value
        case (.firstName, UInt8(ascii: "\"")), (.name, UInt8(ascii: "\"")):
            if case .firstName = expected { breakLine(to: &output) }
            isName = true
            begin(.string(.text), byte, to: &output)
        case (.value, _), (.firstElement, _): try beginValue(byte, to: &output)
        case (.firstName, _), (.name, _): throw unexpected(byte, "a name in quotes")
        case (.colon, _): throw unexpected(byte, "':'")
        case (.separator, _):
            throw unexpected(byte, containers.last == .object ? "',' or '}'" : "',' or ']'")
        case (.end, _):
            held = space.map { [$0] } ?? []
            throw fault(.trailingContent)
        }
        advance(byte)
    }

    private mutating func beginValue(
        _ byte: UInt8, to output: inout [UInt8]
    ) throws(JSONSyntaxError) {
        let isFirst = if case .firstElement = expected { true } else { false }
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard containers.count < maximumDepth else {
                throw fault(.tooDeep(maximum: maximumDepth))
            }
            if isFirst { breakLine(to: &output) }
            output.append(byte)
            containers.append(byte == UInt8(ascii: "{") ? .object : .array)
            expected = byte == UInt8(ascii: "{") ? .firstName : .firstElement
            return
        case UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
            if isFirst { breakLine(to: &output) }
        default: throw unexpected(byte, "a value")
        }
        isName = false
        switch byte {
        case UInt8(ascii: "\""): begin(.string(.text), byte, to: &output)
        case UInt8(ascii: "-"): begin(.number(.minus), byte, to: &output)
        case UInt8(ascii: "0"): begin(.number(.zero), byte, to: &output)
        case UInt8(ascii: "t"): beginLiteral("true", byte)
        case UInt8(ascii: "f"): beginLiteral("false", byte)
        case UInt8(ascii: "n"): beginLiteral("null", byte)
        default: begin(.number(.integer), byte, to: &output)
        }
    }

    // MARK: Strings

    private mutating func takeString(
        _ byte: UInt8, _ part: StringPart, to output: inout [UInt8]
    ) throws(JSONSyntaxError) {
        switch part {
        case .text: try takeText(byte, to: &output)
        case .escape: try takeEscape(byte, to: &output)
        case .hex(let digits, let value, let high):
            guard let digit = byte.hexValue else {
                throw fault(.invalidEscape)
            }
            let next = value << 4 | UInt32(digit)
            if digits == 3 { return try endHex(byte, next, high, to: &output) }
            held.append(byte)
            token = .string(.hex(digits: digits + 1, value: next, high: high))
        case .low(let high, let hasBackslash):
            guard byte == UInt8(ascii: hasBackslash ? "u" : "\\") else {
                releaseSurrogate(to: &output)
                token = .string(hasBackslash ? .escape : .text)
                return hasBackslash
                    ? try takeEscape(byte, to: &output) : try takeText(byte, to: &output)
            }
            held.append(byte)
            token = .string(
                hasBackslash
                    ? .hex(digits: 0, value: 0, high: high) : .low(high: high, hasBackslash: true))
        }
    }

    private mutating func takeText(
        _ byte: UInt8, to output: inout [UInt8]
    ) throws(JSONSyntaxError) {
        if decoder.isEmpty {
            switch byte {
            case UInt8(ascii: "\""):
                output.append(byte)
                return endToken(to: &output)
            case UInt8(ascii: "\\"):
                held = [byte]
                token = .string(.escape)
                return
            case 0x00..<0x20: throw fault(.controlCharacter(byte))
            default: break
            }
        }
        switch decoder.take(byte) {
        case .more: held.append(byte)
        case .scalar(let scalar):
            held = []
            Self.write(scalar, to: &output)
        case .invalid: throw fault(.invalidUTF8)
        }
    }

    private mutating func takeEscape(
        _ byte: UInt8, to output: inout [UInt8]
    ) throws(JSONSyntaxError) {
        switch byte {
        case UInt8(ascii: "/"): output.append(byte)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            output += [UInt8(ascii: "\\"), byte]
        case UInt8(ascii: "u"):
            held.append(byte)
            token = .string(.hex(digits: 0, value: 0, high: nil))
            return
        default: throw fault(.invalidEscape)
        }
        held = []
        token = .string(.text)
    }

    private mutating func endHex(
        _ byte: UInt8, _ value: UInt32, _ high: UInt32?, to output: inout [UInt8]
    ) throws(JSONSyntaxError) {
        let scalar: Unicode.Scalar
        if let high, (0xDC00...0xDFFF).contains(value),
            let pair = Unicode.Scalar(0x10000 + ((high - 0xD800) << 10) + (value - 0xDC00))
        {
            scalar = pair
        } else {
            if high != nil { releaseSurrogate(to: &output) }
            guard let single = Unicode.Scalar(value) else {
                held.append(byte)
                token = .string(.low(high: value, hasBackslash: false))
                if value >= 0xDC00 {
                    releaseSurrogate(to: &output)
                    token = .string(.text)
                }
                return
            }
            scalar = single
        }
        held = []
        token = .string(.text)
        switch scalar {
        case "\"", "\\": output += [UInt8(ascii: "\\"), UInt8(ascii: scalar)]
        default: Self.write(scalar, to: &output)
        }
    }

    /// Writes the held escape of half a surrogate pair, and keeps what is held after it.
    private mutating func releaseSurrogate(to output: inout [UInt8]) {
        let length = 6
        output += held.prefix(length)
        held.removeFirst(min(length, held.count))
    }

    /// Whether a byte inside a string is written as it is, without further tests.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func write(_ scalar: Unicode.Scalar, to output: inout [UInt8]) {
        guard TerminalText.isUnsafe(scalar) else {
            output.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
            return
        }
        for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
            let digits = String(unit, radix: 16)
            output += "\\u\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)".utf8
        }
    }

    // MARK: Literals and numbers

    private mutating func beginLiteral(_ word: StaticString, _ byte: UInt8) {
        held = [byte]
        token = .literal(word, 1)
    }

    private mutating func takeLiteral(
        _ byte: UInt8, _ word: StaticString, _ count: Int, to output: inout [UInt8]
    ) throws(JSONSyntaxError) {
        guard byte == word.utf8Start[count] else { throw unexpected(byte, "'\(word)'") }
        held.append(byte)
        guard count + 1 == word.utf8CodeUnitCount else {
            token = .literal(word, count + 1)
            return
        }
        if let palette { output += palette.literal.utf8 }
        output += held
        held = []
        endToken(to: &output)
    }

    private static func next(_ part: NumberPart, _ byte: UInt8) -> NumberPart? {
        let isDigit = byte.isDigit
        switch part {
        case .minus: return isDigit ? (byte == UInt8(ascii: "0") ? .zero : .integer) : nil
        case .integer where isDigit: return .integer
        case .fraction where isDigit: return .fraction
        case .point: return isDigit ? .fraction : nil
        case .sign, .power: return isDigit ? .power : nil
        case .exponent:
            if isDigit { return .power }
            return byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") ? .sign : nil
        case .zero, .integer:
            if byte == UInt8(ascii: ".") { return .point }
            return byte | 0x20 == UInt8(ascii: "e") ? .exponent : nil
        case .fraction: return byte | 0x20 == UInt8(ascii: "e") ? .exponent : nil
        }
    }

    // MARK: Tokens and containers

    /// The colour of the current token; `nil` for a literal, which is written when it is complete.
    private var colour: String? {
        switch token {
        case .none, .literal: nil
        case .string: isName ? palette?.name : palette?.string
        case .number: palette?.number
        }
    }

    private mutating func begin(_ token: Token, _ byte: UInt8, to output: inout [UInt8]) {
        self.token = token
        if let colour { output += colour.utf8 }
        output.append(byte)
    }

    private mutating func endToken(to output: inout [UInt8]) {
        if let palette { output += palette.reset.utf8 }
        endToken()
    }

    private mutating func endToken() {
        token = .none
        expected = isName ? .colon : containers.isEmpty ? .end : .separator
        isName = false
    }

    private mutating func close(_ byte: UInt8, isEmpty: Bool, to output: inout [UInt8]) {
        containers.removeLast()
        if !isEmpty { breakLine(to: &output) }
        output.append(byte)
        expected = containers.isEmpty ? .end : .separator
    }

    private func breakLine(to output: inout [UInt8]) {
        guard case .indented(let width) = layout else { return }
        output.append(0x0A)
        output.append(contentsOf: repeatElement(0x20, count: width * containers.count))
    }

    // MARK: Faults

    private func unexpected(_ byte: UInt8, _ expected: String) -> JSONSyntaxError {
        fault(.unexpectedByte(byte, expected: expected))
    }

    private func fault(_ reason: JSONSyntaxError.Reason) -> JSONSyntaxError {
        JSONSyntaxError(
            reason: reason, offset: offset, line: line, column: offset - lineStart + 1)
    }
}

/// The texts that ``JSONReformatter`` writes before each kind of token, such as escape sequences
/// for colours, and the `reset` that it writes after each token.
package struct JSONPalette: Sendable, Equatable {
    package var name: String
    package var string: String
    package var number: String
    package var literal: String
    package var reset: String

    package init(name: String, string: String, number: String, literal: String, reset: String) {
        self.name = name
        self.string = string
        self.number = number
        self.literal = literal
        self.reset = reset
    }
}

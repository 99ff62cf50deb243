public import FoundationEssentials

extension JSONValue {
    /// Parses a JSON text in UTF-8; ignores a byte order mark at its start.
    ///
    /// - Parameters:
    ///   - bytes: One JSON value (RFC 8259), which may have white space around it.
    ///   - maximumDepth: How deep arrays and objects may be nested; a limit protects the stack.
    /// - Throws: ``JSONSyntaxError`` if the text is not JSON or nested too deeply.
    public init(
        parsing bytes: some ContiguousBytes, maximumDepth: Int = 512
    ) throws(JSONSyntaxError) {
        let result = bytes.withUnsafeBytes { raw in
            raw.withMemoryRebound(to: UInt8.self) { text in
                var parser = JSONParser(text, maximumDepth: maximumDepth)
                return Result { () throws(JSONSyntaxError) in try parser.parseText() }
            }
        }
        self = try result.get()
    }

    /// Parses a JSON text.
    ///
    /// - Parameters:
    ///   - text: One JSON value (RFC 8259), which may have white space around it.
    ///   - maximumDepth: How deep arrays and objects may be nested; a limit protects the stack.
    /// - Throws: ``JSONSyntaxError`` if the text is not JSON or nested too deeply.
    public init(parsing text: String, maximumDepth: Int = 512) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8), maximumDepth: maximumDepth)
    }
}

/// A recursive descent parser over borrowed bytes; not to be used after the bytes are freed.
struct JSONParser {
    private let text: UnsafeBufferPointer<UInt8>
    private let maximumDepth: Int
    private var position = 0
    private var depth = 0

    init(_ text: UnsafeBufferPointer<UInt8>, maximumDepth: Int) {
        self.text = text
        self.maximumDepth = maximumDepth
    }

    mutating func parseText() throws(JSONSyntaxError) -> JSONValue {
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        skipBlanks()
        let value = try parseValue()
        skipBlanks()
        guard position == text.count else { throw fault(.trailingContent) }
        return value
    }

    private mutating func parseValue() throws(JSONSyntaxError) -> JSONValue {
        guard position < text.count else { throw fault(.unexpectedEnd) }
        switch text[position] {
        case UInt8(ascii: "{"): return try parseObject()
        case UInt8(ascii: "["): return try parseArray()
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseLiteral("true", .bool(true))
        case UInt8(ascii: "f"): return try parseLiteral("false", .bool(false))
        case UInt8(ascii: "n"): return try parseLiteral("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try parseNumber()
        default: throw unexpected("a value")
        }
    }

    private mutating func parseObject() throws(JSONSyntaxError) -> JSONValue {
        try enter()
        var members: [JSONObject.Member] = []
        skipBlanks()
        if take(UInt8(ascii: "}")) {
            depth -= 1
            return .object(JSONObject())
        }
        while true {
            skipBlanks()
            guard position < text.count else { throw fault(.unexpectedEnd) }
            guard text[position] == UInt8(ascii: "\"") else { throw unexpected("a name in quotes") }
            let name = try parseString()
            skipBlanks()
            guard take(UInt8(ascii: ":")) else { throw unexpected("':'") }
            skipBlanks()
            members.append(JSONObject.Member(name: name, value: try parseValue()))
            skipBlanks()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "}")) else { throw unexpected("',' or '}'") }
            depth -= 1
            return .object(JSONObject(parsed: members))
        }
    }

    private mutating func parseArray() throws(JSONSyntaxError) -> JSONValue {
        try enter()
        var elements: [JSONValue] = []
        skipBlanks()
        if take(UInt8(ascii: "]")) {
            depth -= 1
            return .array([])
        }
        while true {
            skipBlanks()
            elements.append(try parseValue())
            skipBlanks()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "]")) else { throw unexpected("',' or ']'") }
            depth -= 1
            return .array(elements)
        }
    }

    private mutating func enter() throws(JSONSyntaxError) {
        guard depth < maximumDepth else { throw fault(.tooDeep(maximum: maximumDepth)) }
        depth += 1
        position += 1
    }

    private mutating func parseLiteral(
        _ word: StaticString, _ value: JSONValue
    ) throws(JSONSyntaxError) -> JSONValue {
        for index in 0..<word.utf8CodeUnitCount {
            guard take(word.utf8Start[index]) else { throw unexpected("'\(word)'") }
        }
        return value
    }

    private mutating func parseNumber() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try takeDigits() }
        if take(UInt8(ascii: ".")) { try takeDigits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try takeDigits()
        }
        let digits = UnsafeBufferPointer(rebasing: text[start..<position])
        return .number(JSONNumber(parsed: String(decoding: digits, as: UTF8.self)))
    }

    private mutating func takeDigits() throws(JSONSyntaxError) {
        let start = position
        while position < text.count, isDigit(text[position]) { position += 1 }
        guard position > start else { throw unexpected("a digit") }
    }

    /// Parses a string whose opening quotation mark is at the current position.
    private mutating func parseString() throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        while position < text.count {
            let byte = text[position]
            if byte == UInt8(ascii: "\"") {
                let string = try decoded(from: start, to: position)
                position += 1
                return string
            }
            if byte == UInt8(ascii: "\\") { return try parseEscapedString(from: start) }
            guard byte >= 0x20 else { throw fault(.controlCharacter(byte)) }
            position += 1
        }
        throw fault(.unexpectedEnd)
    }

    /// Parses the rest of a string whose first backslash is at the current position.
    private mutating func parseEscapedString(from start: Int) throws(JSONSyntaxError) -> String {
        var string = ""
        var plain = start
        while position < text.count {
            let byte = text[position]
            if byte == UInt8(ascii: "\"") {
                string += try decoded(from: plain, to: position)
                position += 1
                return string
            }
            guard byte >= 0x20 else { throw fault(.controlCharacter(byte)) }
            guard byte == UInt8(ascii: "\\") else {
                position += 1
                continue
            }
            string += try decoded(from: plain, to: position)
            string.unicodeScalars.append(try parseEscape())
            plain = position
        }
        throw fault(.unexpectedEnd)
    }

    private mutating func parseEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position
        position += 1
        guard position < text.count else { throw fault(.unexpectedEnd) }
        let letter = text[position]
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw fault(.invalidEscape, at: start)
        }
        let high = try parseHex(escape: start)
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard high < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw fault(.unpairedSurrogate, at: start)
        }
        let low = try parseHex(escape: start)
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        else { throw fault(.unpairedSurrogate, at: start) }
        return scalar
    }

    private mutating func parseHex(escape start: Int) throws(JSONSyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard position < text.count else { throw fault(.unexpectedEnd) }
            guard let digit = text[position].hexValue else {
                throw fault(.invalidEscape, at: start)
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private func decoded(from start: Int, to end: Int) throws(JSONSyntaxError) -> String {
        let bytes = UnsafeBufferPointer(rebasing: text[start..<end])
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw fault(.invalidUTF8, at: start)
        }
        return string
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() {
        while position < text.count {
            switch text[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private func unexpected(_ expected: String) -> JSONSyntaxError {
        guard position < text.count else { return fault(.unexpectedEnd) }
        return fault(.unexpectedByte(text[position], expected: expected))
    }

    private func fault(_ reason: JSONSyntaxError.Reason, at place: Int? = nil) -> JSONSyntaxError {
        let offset = place ?? position
        let before = text[..<offset]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return JSONSyntaxError(
            reason: reason, offset: offset, line: line, column: offset - lineStart + 1)
    }
}

private func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
}

/// A recursive descent parser that writes a ``JSONTokens``.
struct JSONScanner: ~Copyable {
    private(set) var tokens: JSONTokenList
    private let text: UnsafeBufferPointer<UInt8>
    private let maximumDepth: Int
    private var offset = 0
    private var depth = 0
    /// The position of the array or object that is being scanned.
    private var parent: UInt32 = 0
    /// The index of the next value, if that is an array's element.
    private var index: UInt32 = 0

    /// Makes a scanner for a whole text.
    init(_ text: UnsafeBufferPointer<UInt8>, maximumDepth: Int) {
        self.text = text
        self.maximumDepth = maximumDepth
        // Compact texts have about one token for each four bytes.
        tokens = JSONTokenList(capacity: text.count / 4 + 1)
    }

    /// Makes a scanner for a string of a text that was scanned before.
    init(_ text: UnsafeBufferPointer<UInt8>, at offset: Int) {
        self.text = text
        self.offset = offset
        maximumDepth = 0
        tokens = JSONTokenList(capacity: 0)
    }

    /// Scans the whole text.
    consuming func scanText() throws(JSONSyntaxError) -> JSONTokenList {
        guard text.count < UInt32.max else { throw fault(.tooLong) }
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF { offset = 3 }
        try scanValue(peek())
        _ = peek()
        guard offset == text.count else { throw fault(.trailingContent) }
        return tokens
    }

    /// Scans the value that begins at the current offset, with this byte.
    private mutating func scanValue(_ first: UInt8) throws(JSONSyntaxError) {
        switch first {
        case UInt8(ascii: "\""): try scanString()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try scanNumber()
        case UInt8(ascii: "{"): try scanObject()
        case UInt8(ascii: "["): try scanArray()
        case UInt8(ascii: "t"): try scan("true", .true)
        case UInt8(ascii: "f"): try scan("false", .false)
        case UInt8(ascii: "n"): try scan("null", .null)
        default: throw unexpected("a value")
        }
    }

    /// Appends the token of a value or name that has no values inside.
    @inline(__always)
    private mutating func append(_ token: JSONToken) {
        var token = token
        token.next = UInt32(truncatingIfNeeded: tokens.count + 1)
        tokens.append(token)
    }

    // MARK: Objects and arrays

    private mutating func scanObject() throws(JSONSyntaxError) {
        let position = try enter(.object)
        var names = ScannedNames()
        var byte = peek()
        while byte != UInt8(ascii: "}") || names.count > 0 {
            guard byte == UInt8(ascii: "\"") else { throw unexpected("a name in quotes") }
            let name = tokens.count
            try scanString()
            names.add(tokens[name], in: text) { isRepeated(name, of: position) }
            guard peek() == UInt8(ascii: ":") else { throw unexpected("':'") }
            offset += 1
            try scanValue(peek())
            byte = peek()
            guard byte == UInt8(ascii: ",") else { break }
            offset += 1
            byte = peek()
        }
        guard byte == UInt8(ascii: "}") else { throw unexpected("',' or '}'") }
        if names.needIndex { tokens[position].needsIndex = true }
        leave(position, count: names.count)
    }

    private mutating func scanArray() throws(JSONSyntaxError) {
        let position = try enter(.array)
        var count = 0
        var byte = peek()
        while byte != UInt8(ascii: "]") || count > 0 {
            index = UInt32(truncatingIfNeeded: count)
            try scanValue(byte)
            count += 1
            byte = peek()
            guard byte == UInt8(ascii: ",") else { break }
            offset += 1
            byte = peek()
        }
        guard byte == UInt8(ascii: "]") else { throw unexpected("',' or ']'") }
        leave(position, count: count)
    }

    /// Whether an object that is being scanned has a name already.
    private func isRepeated(_ name: Int, of object: Int) -> Bool {
        let token = tokens[name]
        var position = object + 1
        while position < name {
            let other = tokens[position]
            let (a, b) = (Int(token.start), Int(other.start))
            if token.count == other.count,
                (0..<Int(token.count)).allSatisfy({ text[a + $0] == text[b + $0] })
            {
                return true
            }
            position = Int(tokens[position + 1].next)
        }
        return false
    }

    private mutating func enter(_ kind: JSONToken.Kind) throws(JSONSyntaxError) -> Int {
        guard depth < maximumDepth else { throw fault(.tooDeep(maximum: maximumDepth)) }
        depth += 1
        let position = tokens.count
        tokens.append(token(kind, from: offset))
        parent = UInt32(truncatingIfNeeded: position)
        offset += 1
        return position
    }

    /// Ends an array or object behind its closing bracket, which is at the current offset.
    private mutating func leave(_ position: Int, count: Int) {
        offset += 1
        depth -= 1
        parent = tokens[position].parent
        tokens[position].count = UInt32(truncatingIfNeeded: count)
        tokens[position].next = UInt32(truncatingIfNeeded: tokens.count)
    }

    // MARK: Words and numbers

    private mutating func scan(
        _ word: StaticString, _ kind: JSONToken.Kind
    ) throws(JSONSyntaxError) {
        let start = offset
        for index in 0..<word.utf8CodeUnitCount {
            guard take(word.utf8Start[index]) else { throw unexpected("'\(word)'") }
        }
        append(token(kind, from: start))
    }

    private mutating func scanNumber() throws(JSONSyntaxError) {
        let start = offset
        var kind = JSONToken.Kind.integer
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try takeDigits() }
        if take(UInt8(ascii: ".")) {
            kind = .fraction
            try takeDigits()
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            kind = .fraction
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try takeDigits()
        }
        append(token(kind, from: start))
    }

    private mutating func takeDigits() throws(JSONSyntaxError) {
        let start = offset
        while offset < text.count, text[offset].isDigit { offset += 1 }
        guard offset > start else { throw unexpected("a digit") }
    }

    /// A token for the bytes from an offset to the current one.
    private func token(_ kind: JSONToken.Kind, from start: Int) -> JSONToken {
        JSONToken(
            kind: kind, start: UInt32(truncatingIfNeeded: start),
            count: UInt32(truncatingIfNeeded: offset - start), parent: parent,
            index: index)
    }

    // MARK: Strings

    /// Scans a string whose opening quotation mark is at the current offset.
    private mutating func scanString() throws(JSONSyntaxError) {
        offset += 1
        let start = offset
        var isASCII = true
        var isEscaped = false
        while true {
            if skipPlain() { isASCII = false }
            guard offset < text.count else { throw fault(.unexpectedEnd) }
            switch text[offset] {
            case UInt8(ascii: "\""):
                var string = token(.string, from: start)
                string.isEscaped = isEscaped
                string.isASCII = isASCII
                append(string)
                offset += 1
                return
            case UInt8(ascii: "\\"):
                isEscaped = true
                try skipEscape()
            case let byte: throw fault(.controlCharacter(byte))
            }
        }
    }

    /// Skips the bytes of a string up to a quotation mark, a backslash or a control character.
    ///
    /// Looks at eight bytes at a time. In each of the three masks, bit 7 of a byte is set if
    /// it is such a byte; bytes behind the first one found may be marked wrongly.
    ///
    /// - Returns: Whether any of them is above 0x7F.
    @inline(__always)
    private mutating func skipPlain() -> Bool {
        let (ones, high): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let bytes = UnsafeRawBufferPointer(text)
        var (position, all): (Int, UInt64) = (offset, 0)
        defer { offset = position }
        while text.count - position >= 8 {
            let word = UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            let ends =
                ((quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
                    | (word &- ones &* 0x20) & ~word) & high
            // The bits below the first byte found, all if there is none.
            all |= word & ((ends & (0 &- ends)) &- 1)
            if ends != 0 {
                position &+= ends.trailingZeroBitCount / 8
                return all & high != 0
            }
            position &+= 8
        }
        while position < text.count {
            let byte = text[position]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            all |= UInt64(byte)
            position &+= 1
        }
        return all & high != 0
    }

    /// Skips the escape at the current offset; ``unescapedString()`` pairs surrogates.
    private mutating func skipEscape() throws(JSONSyntaxError) {
        let start = offset
        offset += 1
        guard offset < text.count else { throw fault(.unexpectedEnd) }
        let letter = text[offset]
        offset += 1
        if letter == UInt8(ascii: "u") {
            _ = try scanHex(escape: start)
        } else if Self.character(ofEscape: letter) == nil {
            throw fault(.invalidEscape, at: start)
        }
    }

    /// The character of a backslash and a letter; `nil` if there is none, or more than a letter.
    private static func character(ofEscape letter: UInt8) -> Unicode.Scalar? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): Unicode.Scalar(letter)
        case UInt8(ascii: "b"): "\u{08}"
        case UInt8(ascii: "f"): "\u{0C}"
        case UInt8(ascii: "n"): "\n"
        case UInt8(ascii: "r"): "\r"
        case UInt8(ascii: "t"): "\t"
        default: nil
        }
    }

    /// Returns the rest of a string from the current offset on, with its escapes replaced.
    mutating func unescapedString() throws(JSONSyntaxError) -> String {
        var string = ""
        var plain = offset
        while offset < text.count, text[offset] != UInt8(ascii: "\"") {
            guard text[offset] == UInt8(ascii: "\\") else {
                offset += 1
                continue
            }
            string += try decoded(from: plain)
            string.unicodeScalars.append(try scanEscape())
            plain = offset
        }
        return string + (try decoded(from: plain))
    }

    /// The text between an offset and the current one.
    private func decoded(from start: Int) throws(JSONSyntaxError) -> String {
        let bytes = UnsafeBufferPointer(rebasing: text[start..<offset])
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw fault(.invalidUTF8, at: start)
        }
        return string
    }

    /// Returns the character of the escape at the current offset, which was scanned before.
    private mutating func scanEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = offset
        offset += 2
        if let character = Self.character(ofEscape: text[start + 1]) { return character }
        let high = try scanHex(escape: start)
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard high < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw fault(.unpairedSurrogate, at: start)
        }
        let low = try scanHex(escape: start)
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        else { throw fault(.unpairedSurrogate, at: start) }
        return scalar
    }

    private mutating func scanHex(escape start: Int) throws(JSONSyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard offset < text.count else { throw fault(.unexpectedEnd) }
            guard let digit = text[offset].hexValue else {
                throw fault(.invalidEscape, at: start)
            }
            value = value << 4 | UInt32(digit)
            offset += 1
        }
        return value
    }

    // MARK: Bytes

    private mutating func take(_ byte: UInt8) -> Bool {
        guard offset < text.count, text[offset] == byte else { return false }
        offset += 1
        return true
    }

    /// Skips white space.
    ///
    /// - Returns: The byte that follows; 0, which no value begins with, at the end of the text.
    @inline(__always)
    private mutating func peek() -> UInt8 {
        while offset < text.count {
            let byte = text[offset]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
            else { return byte }
            offset &+= 1
        }
        return 0
    }

    private func unexpected(_ expected: String) -> JSONSyntaxError {
        guard offset < text.count else { return fault(.unexpectedEnd) }
        return fault(.unexpectedByte(text[offset], expected: expected))
    }

    private func fault(_ reason: JSONSyntaxError.Reason, at place: Int? = nil) -> JSONSyntaxError {
        JSONSyntaxError(reason, at: place ?? offset, in: text)
    }
}

/// The names of an object, while it is scanned.
private struct ScannedNames {
    private(set) var count = 0
    /// Whether comparing bytes is not enough to find a name.
    private(set) var needIndex = false
    /// One bit for each hash of a name.
    private var hashes: UInt64 = 0

    /// The number of members from which on names are found by an index.
    private static let most = 32

    /// Adds a name that is not among the tokens yet.
    ///
    /// - Parameter isThere: Whether the object has the name already; called only if its hash does
    ///   not rule that out.
    @inline(__always)
    mutating func add(
        _ name: JSONToken, in text: UnsafeBufferPointer<UInt8>, isThere: () -> Bool
    ) {
        count += 1
        guard !needIndex else { return }
        guard count <= Self.most, !name.isEscaped, name.isASCII else { return needIndex = true }
        let (start, length) = (Int(name.start), Int(name.count))
        var hash = length
        if length > 0 { hash += 7 * Int(text[start]) + 31 * Int(text[start + length - 1]) }
        let bit: UInt64 = 1 << UInt64(hash & 63)
        if hashes & bit != 0 { needIndex = isThere() }
        hashes |= bit
    }
}

extension JSONSyntaxError {
    /// Makes the error of a fault at an offset of a text.
    init(_ reason: Reason, at offset: Int, in text: UnsafeBufferPointer<UInt8>) {
        let before = text[..<offset]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        self.init(reason: reason, offset: offset, line: line, column: offset - lineStart + 1)
    }
}

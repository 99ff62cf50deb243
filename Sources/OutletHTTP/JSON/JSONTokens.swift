/// A value of a JSON text, or the name of a member.
struct JSONToken {
    enum Kind: UInt8 {
        case null, `true`, `false`, integer, fraction, string, array, object
    }

    let kind: Kind
    /// Of a string: whether it has escapes.
    var isEscaped = false
    /// Of a string: whether it has bytes above 0x7F, which need not be UTF-8.
    var isASCII = true
    /// Of an object: whether comparing bytes is not enough to find a name, because names are
    /// repeated, escaped or not ASCII, or because there are many.
    var needsIndex = false
    /// The offset of the first byte; of a string, of the byte after the quotation mark.
    let start: UInt32
    /// The length in bytes, without quotation marks; of an array or object, the number of elements
    /// or members.
    var count: UInt32 = 0
    /// The position of the token behind this value, and behind all values inside.
    var next: UInt32 = 0
    /// The position of the array or object that holds this value or name.
    let parent: UInt32
    /// The index of an array's element, from 0.
    let index: UInt32
}

/// A list of tokens; cheaper than an array, which checks for each token whether it is shared.
struct JSONTokenList: ~Copyable {
    private var tokens: UnsafeMutableBufferPointer<JSONToken>
    private(set) var count = 0

    init(capacity: Int) { tokens = .allocate(capacity: capacity) }

    deinit { tokens.deallocate() }

    @inline(__always)
    mutating func append(_ token: JSONToken) {
        if count == tokens.count { grow() }
        tokens.initializeElement(at: count, to: token)
        count &+= 1
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutableBufferPointer<JSONToken>.allocate(capacity: 2 * count + 16)
        _ = larger.moveInitialize(fromContentsOf: tokens)
        tokens.deallocate()
        tokens = larger
    }

    subscript(position: Int) -> JSONToken {
        @inline(__always) get {
            precondition(position >= 0 && position < count)
            return tokens[position]
        }
        @inline(__always) _modify {
            precondition(position >= 0 && position < count)
            yield &tokens[position]
        }
    }
}

/// The values of a JSON text (RFC 8259) in the order of the text: an array is followed by its
/// elements, an object by its members, each a name and a value.
///
/// Strings and numbers are converted when they are read. Refers to the text, and must not be used
/// after its bytes are freed.
struct JSONTokens: ~Copyable {
    let text: UnsafeBufferPointer<UInt8>
    private let list: JSONTokenList

    /// Makes the tokens of a text in UTF-8; ignores a byte order mark at its start.
    ///
    /// - Throws: ``JSONSyntaxError`` if the text is not JSON, or nested deeper than `maximumDepth`.
    ///   Surrogates, and whether strings are UTF-8, are checked by ``string(at:)``.
    init(_ text: UnsafeBufferPointer<UInt8>, maximumDepth: Int) throws(JSONSyntaxError) {
        self.text = text
        list = try JSONScanner(text, maximumDepth: maximumDepth).scanText()
    }

    subscript(position: Int) -> JSONToken { list[position] }

    /// The bytes of a string or number.
    func bytes(at position: Int) -> UnsafeBufferPointer<UInt8> {
        let token = list[position]
        return UnsafeBufferPointer(
            start: text.baseAddress.map { $0 + Int(token.start) }, count: Int(token.count))
    }

    /// Whether a name, without escapes, consists of these bytes.
    @inline(__always)
    func name(at position: Int, is name: borrowing Span<UInt8>) -> Bool {
        let token = list[position]
        guard token.count == name.count else { return false }
        let start = Int(token.start)
        for index in name.indices where text[start + index] != name[index] { return false }
        return true
    }

    /// Returns a string with its escapes replaced.
    ///
    /// - Throws: ``JSONSyntaxError`` if the string is not UTF-8, or has half a surrogate pair.
    func string(at position: Int) throws(JSONSyntaxError) -> String {
        let token = list[position]
        let bytes = bytes(at: position)
        if token.isEscaped {
            var scanner = JSONScanner(text, at: Int(token.start))
            return try scanner.unescapedString()
        }
        if token.isASCII {
            return String(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: true))
        }
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw JSONSyntaxError(.invalidUTF8, at: Int(token.start), in: text)
        }
        return string
    }

    /// The position of the token behind a value, and behind all values inside.
    func next(after position: Int) -> Int { Int(list[position].next) }

    /// The positions of the names of an object's members, in order.
    func names(of object: Int) -> [Int] {
        var (names, position) = ([Int](), object + 1)
        while position < next(after: object) {
            names.append(position)
            position = next(after: position + 1)
        }
        return names
    }
}

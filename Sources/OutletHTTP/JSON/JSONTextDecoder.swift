public import FoundationEssentials

/// Decodes values from JSON, as Foundation's `JSONDecoder` does with its default settings, but
/// faster: a request for 1 KiB of JSON takes a third of the instructions (`decodable` of
/// `Benchmarks/count`).
///
/// Dates are seconds since 2001, as `Date` encodes itself, `Data` is Base64, `URL` is a string and
/// `Decimal` a number. Of members with equal names the first one counts. For other settings use
/// `JSONDecoder`.
///
/// Unlike `JSONDecoder`, refuses a comma behind the last element of an array, and a text with a
/// malformed number even if the type does not read that number; rounds no large or small fraction to
/// an integer; decodes a number that is too small for a `Double` or `Float`, such as `1E-400`, as 0;
/// and reports `null` in place of a `Bool` as `valueNotFound`.
public struct JSONTextDecoder: Sendable {
    /// How deep arrays and objects may be nested; a limit protects the stack.
    private static let maximumDepth = 512

    /// Makes a decoder.
    public init() {}

    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - data: One JSON value (RFC 8259), which may have white space around it.
    /// - Throws: `DecodingError.dataCorrupted` with a ``JSONSyntaxError`` if `data` is not JSON;
    ///   other cases of `DecodingError`, with the path of the value, if it is not the JSON of the
    ///   type; what the type throws.
    ///
    /// Thread: any; may be called on several threads at the same time.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        if data.withUnsafeBytes(Self.isWide) { return try JSONDecoder().decode(type, from: data) }
        let document: JSONDocument
        do throws(JSONSyntaxError) {
            document = try JSONDocument(data, maximumDepth: Self.maximumDepth)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: [], debugDescription: "The data is not JSON.",
                    underlyingError: error))
        }
        return try document.value(type, at: 0)
    }

    /// Whether a text is UTF-16 or UTF-32, which are left to Foundation's decoder.
    private static func isWide(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count > 1 else { return false }
        let isMarked = text[0] ^ text[1] == 1 && min(text[0], text[1]) == 0xFE
        return isMarked || text.prefix(4).contains(0)
    }
}

/// A name or an index in the path of a value.
struct JSONPathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(index: Int) {
        stringValue = "Index \(index)"
        intValue = index
    }

    init?(intValue: Int) { self.init(index: intValue) }

    static let `super` = JSONPathKey(stringValue: "super")
}

/// The decoder of one value.
struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
    let document: JSONDocument
    let position: Int

    var codingPath: [any CodingKey] { document.path(to: position) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try JSONKeyedContainer<Key>(document, position))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try JSONUnkeyedContainer(document, position)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { document.kind(at: position) == .null }
    func decode(_: Bool.Type) throws -> Bool { try document.bool(at: position) }
    func decode(_: String.Type) throws -> String { try document.text(at: position) }
    func decode(_: Double.Type) throws -> Double { try document.double(at: position) }
    func decode(_: Float.Type) throws -> Float { try document.float(at: position) }
    func decode(_ type: Int.Type) throws -> Int { try document.integer(type, at: position) }
    func decode(_ type: Int8.Type) throws -> Int8 { try document.integer(type, at: position) }
    func decode(_ type: Int16.Type) throws -> Int16 { try document.integer(type, at: position) }
    func decode(_ type: Int32.Type) throws -> Int32 { try document.integer(type, at: position) }
    func decode(_ type: Int64.Type) throws -> Int64 { try document.integer(type, at: position) }
    func decode(_ type: Int128.Type) throws -> Int128 { try document.integer(type, at: position) }
    func decode(_ type: UInt.Type) throws -> UInt { try document.integer(type, at: position) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try document.integer(type, at: position) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try document.integer(type, at: position) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try document.integer(type, at: position) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try document.integer(type, at: position) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try document.integer(type, at: position) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try document.value(type, at: position)
    }
}

/// The members of an object.
private struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let document: JSONDocument
    private let object: Int

    init(_ document: JSONDocument, _ object: Int) throws {
        try document.open(object)
        self.document = document
        self.object = object
    }

    var codingPath: [any CodingKey] { document.path(to: object) }

    var allKeys: [Key] {
        document.tokens.names(of: object).compactMap { position in
            guard let name = try? document.tokens.string(at: position) else { return nil }
            // Of equal names the first one counts; only an object with an index may have them.
            guard
                !document.tokens[object].needsIndex
                    || document.member(name, of: object) == position + 1
            else { return nil }
            return Key(stringValue: name)
        }
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }

    private func find(_ key: some CodingKey) -> Int? {
        document.member(key.stringValue, of: object)
    }

    private func required(_ key: some CodingKey) throws -> Int {
        guard let value = find(key) else {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(
                    codingPath: codingPath,
                    debugDescription: "There is no member named \"\(key.stringValue)\"."))
        }
        return value
    }

    /// Reads a member.
    @inline(__always)
    private func read<Value>(_ key: Key, _ body: (Int) throws -> Value) throws -> Value {
        let value = try required(key)
        defer { document.didRead(value, of: object) }
        return try body(value)
    }

    /// Reads a member that may be missing or `null`.
    @inline(__always)
    private func readIfPresent<Value>(_ key: Key, _ body: (Int) throws -> Value) throws -> Value? {
        guard let value = find(key) else { return nil }
        defer { document.didRead(value, of: object) }
        return document.kind(at: value) == .null ? nil : try body(value)
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        document.kind(at: try required(key)) == .null
    }

    func decode(_: Bool.Type, forKey key: Key) throws -> Bool {
        try read(key) { try document.bool(at: $0) }
    }
    func decode(_: String.Type, forKey key: Key) throws -> String {
        try read(key) { try document.text(at: $0) }
    }
    func decode(_: Double.Type, forKey key: Key) throws -> Double {
        try read(key) { try document.double(at: $0) }
    }
    func decode(_: Float.Type, forKey key: Key) throws -> Float {
        try read(key) { try document.float(at: $0) }
    }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try read(key) { try document.integer(type, at: $0) }
    }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try read(key) { try document.value(type, at: $0) }
    }

    // The protocol's own versions look for a member three times.
    func decodeIfPresent(_: Bool.Type, forKey key: Key) throws -> Bool? {
        try readIfPresent(key) { try document.bool(at: $0) }
    }
    func decodeIfPresent(_: String.Type, forKey key: Key) throws -> String? {
        try readIfPresent(key) { try document.text(at: $0) }
    }
    func decodeIfPresent(_: Double.Type, forKey key: Key) throws -> Double? {
        try readIfPresent(key) { try document.double(at: $0) }
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try readIfPresent(key) { try document.integer(type, at: $0) }
    }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try readIfPresent(key) { try document.value(type, at: $0) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy _: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(try JSONKeyedContainer<NestedKey>(document, required(key)))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try JSONUnkeyedContainer(document, required(key))
    }

    func superDecoder() throws -> any Decoder { try valueDecoder(JSONPathKey.super) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try valueDecoder(key) }

    /// Returns the decoder of a member; of `null` if there is no such member.
    private func valueDecoder(_ key: some CodingKey) throws -> any Decoder {
        if let value = find(key) { return JSONValueDecoder(document: document, position: value) }
        let missing = try JSONDocument(
            Data("null".utf8), maximumDepth: 1, root: codingPath + [key])
        return JSONValueDecoder(document: missing, position: 0)
    }
}

/// The elements of an array.
private struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
    // Three words: an existential container of more has its value on the heap.
    private let document: JSONDocument
    private let array: Int
    private var position: Int

    init(_ document: JSONDocument, _ array: Int) throws {
        guard document.kind(at: array) == .array else {
            throw document.mismatch([Any].self, at: array)
        }
        self.document = document
        self.array = array
        position = array + 1
    }

    var codingPath: [any CodingKey] { document.path(to: array) }
    var count: Int? { Int(document.tokens[array].count) }
    var isAtEnd: Bool { position == document.tokens.next(after: array) }
    var currentIndex: Int {
        Int(isAtEnd ? document.tokens[array].count : document.tokens[position].index)
    }

    /// Reads the next element; stays at it if that fails.
    @inline(__always)
    private mutating func read<Value>(_ body: (Int) throws -> Value) throws -> Value {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                Value.self,
                DecodingError.Context(
                    codingPath: codingPath + [JSONPathKey(index: currentIndex)],
                    debugDescription: "The array has \(currentIndex) elements only."))
        }
        let value = try body(position)
        position = document.tokens.next(after: position)
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard isAtEnd || document.kind(at: position) == .null else { return false }
        return try read { _ in true }
    }

    mutating func decode(_: Bool.Type) throws -> Bool {
        try read { [document] in try document.bool(at: $0) }
    }
    mutating func decode(_: String.Type) throws -> String {
        try read { [document] in try document.text(at: $0) }
    }
    mutating func decode(_: Double.Type) throws -> Double {
        try read { [document] in try document.double(at: $0) }
    }
    mutating func decode(_: Float.Type) throws -> Float {
        try read { [document] in try document.float(at: $0) }
    }
    mutating func decode(_ type: Int.Type) throws -> Int {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: Int8.Type) throws -> Int8 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: Int16.Type) throws -> Int16 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: Int32.Type) throws -> Int32 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: Int64.Type) throws -> Int64 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: UInt.Type) throws -> UInt {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        try read { [document] in try document.integer(type, at: $0) }
    }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try read { [document] in try document.value(type, at: $0) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy _: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try read { [document] in
            KeyedDecodingContainer(try JSONKeyedContainer<NestedKey>(document, $0))
        }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try read { [document] in try JSONUnkeyedContainer(document, $0) }
    }

    mutating func superDecoder() throws -> any Decoder {
        try read { [document] in JSONValueDecoder(document: document, position: $0) }
    }
}

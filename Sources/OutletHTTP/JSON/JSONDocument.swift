import FoundationEssentials

/// The text and the tokens of a JSON text, and conversions of its values.
///
/// The containers of a decoder refer to it: they may be kept after the decoding.
final class JSONDocument {
    let tokens: JSONTokens
    private let text: UnsafeMutableBufferPointer<UInt8>
    /// The names and indexes that lead to the text's value.
    private let root: [any CodingKey]
    /// The object whose member was read last, and the name that follows.
    private var lastObject = -1
    private var nextName = 0
    /// The values of members by name, for objects whose names cannot be compared as bytes: those read
    /// last, and those that hold them.
    private var indexes: [Int: [String: Int]] = [:]
    /// The number of `indexes` from which on those of other objects are dropped.
    private static let indexLimit = 64

    /// Reads a text.
    ///
    /// - Parameters:
    ///   - data: One JSON value.
    ///   - maximumDepth: How deep arrays and objects may be nested.
    ///   - root: The names and indexes that lead to the value, for errors.
    init(
        _ data: Data, maximumDepth: Int, root: [any CodingKey] = []
    ) throws(JSONSyntaxError) {
        self.root = root
        text = .allocate(capacity: data.count)
        _ = text.initialize(from: data)
        do throws(JSONSyntaxError) {
            tokens = try JSONTokens(UnsafeBufferPointer(text), maximumDepth: maximumDepth)
        } catch {
            // `deinit` does not run for an object whose initializer throws.
            text.deallocate()
            throw error
        }
    }

    deinit { text.deallocate() }

    // MARK: Members

    /// The position of a member's value; `nil` if the object has no such member.
    ///
    /// Most types read members in the order of the text: begins with the next one.
    func member(_ name: consuming String, of object: Int) -> Int? {
        // ``open(_:)`` has read the names before.
        if tokens[object].needsIndex { return (try? index(of: object))?[name] }
        let first = object + 1
        let end = tokens.next(after: object)
        guard first < end else { return nil }
        let start = lastObject == object && nextName < end ? nextName : first
        let name = name.utf8.span
        var position = start
        repeat {
            if tokens.name(at: position, is: name) { return position + 1 }
            position = tokens.next(after: position + 1)
            if position >= end { position = first }
        } while position != start
        return nil
    }

    /// Notes that a member was read.
    func didRead(_ value: Int, of object: Int) {
        lastObject = object
        nextName = tokens.next(after: value)
    }

    /// Prepares an object for ``member(_:of:)``.
    ///
    /// - Throws: `DecodingError` if the value is no object, or a name cannot be read.
    func open(_ object: Int) throws {
        guard kind(at: object) == .object else {
            throw mismatch([String: Any].self, at: object)
        }
        if tokens[object].needsIndex { _ = try index(of: object) }
    }

    /// The values of an object's members by name, the first of equal names.
    private func index(of object: Int) throws -> [String: Int] {
        if let known = indexes[object] { return known }
        var names = [String: Int](minimumCapacity: Int(tokens[object].count))
        for position in tokens.names(of: object) {
            let name = try string(at: position, in: object)
            if names[name] == nil { names[name] = position + 1 }
        }
        if indexes.count >= Self.indexLimit {
            // The objects around this one are still being read: to drop theirs as well would make
            // reading an object quadratic.
            indexes = indexes.filter { $0.key < object && object < tokens.next(after: $0.key) }
        }
        indexes[object] = names
        return names
    }

    // MARK: Values

    func kind(at position: Int) -> JSONToken.Kind { tokens[position].kind }

    func bool(at position: Int) throws -> Bool {
        switch kind(at: position) {
        case .true: return true
        case .false: return false
        default: throw mismatch(Bool.self, at: position)
        }
    }

    func text(at position: Int) throws -> String {
        guard kind(at: position) == .string else { throw mismatch(String.self, at: position) }
        return try string(at: position, in: position)
    }

    /// The text of a string, or of a name of the object `value`.
    private func string(at position: Int, in value: Int) throws -> String {
        do throws(JSONSyntaxError) {
            return try tokens.string(at: position)
        } catch {
            throw corrupted("A string cannot be read.", at: value, error)
        }
    }

    @inline(__always)
    func integer<Number: FixedWidthInteger>(_ type: Number.Type, at position: Int) throws -> Number
    {
        switch kind(at: position) {
        case .integer:
            if let value = smallInteger(at: position) {
                if let number = Number(exactly: value) { return number }
            } else if let number = Number(numberText(at: position)) {
                return number
            }
        case .fraction:
            // Such as 1.0 and 1e3.
            if let decimal = Decimal(string: numberText(at: position)),
                let number = Number(decimal.description)
            {
                return number
            }
        default: throw mismatch(type, at: position)
        }
        throw corrupted(
            "Number \(numberText(at: position)) does not fit in \(type).", at: position)
    }

    func double(at position: Int) throws -> Double {
        switch kind(at: position) {
        case .integer:
            // Up to 2^53 all integers are exact.
            if let value = smallInteger(at: position), let double = Double(exactly: value) {
                return value == 0 ? zero(at: position) : double
            }
        case .fraction: if let value = shortFraction(at: position) { return value }
        default: throw mismatch(Double.self, at: position)
        }
        return try floating(Double.self, at: position)
    }

    func float(at position: Int) throws -> Float {
        switch kind(at: position) {
        case .integer, .fraction: try floating(Float.self, at: position)
        default: throw mismatch(Float.self, at: position)
        }
    }

    private func floating<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: Number.Type, at position: Int
    ) throws -> Number {
        let text = numberText(at: position)
        guard let number = Number(text), number.isFinite else {
            throw corrupted("Number \(text) does not fit in \(type).", at: position)
        }
        return number
    }

    private func zero(at position: Int) -> Double {
        tokens.bytes(at: position)[0] == UInt8(ascii: "-") ? -0.0 : 0
    }

    /// An integer of at most 18 digits; `nil` if it has more.
    private func smallInteger(at position: Int) -> Int64? {
        let bytes = tokens.bytes(at: position)
        let isNegative = bytes[0] == UInt8(ascii: "-")
        let digits = isNegative ? 1 : 0
        guard bytes.count - digits <= 18 else { return nil }
        var value: Int64 = 0
        for index in digits..<bytes.count { value = value &* 10 &+ Int64(bytes[index] & 0xF) }
        return isNegative ? -value : value
    }

    /// A number without an exponent, and with few digits; `nil` for others.
    ///
    /// The digits and the power of ten are both exact as `Double`, so their quotient is rounded
    /// correctly.
    private func shortFraction(at position: Int) -> Double? {
        let bytes = tokens.bytes(at: position)
        let isNegative = bytes[0] == UInt8(ascii: "-")
        guard bytes.count <= 16 else { return nil }
        var (digits, divisor): (Int64, Double) = (0, 0)
        for byte in bytes.dropFirst(isNegative ? 1 : 0) {
            if byte == UInt8(ascii: ".") {
                divisor = 1
            } else if byte.isDigit {
                digits = digits &* 10 &+ Int64(byte & 0xF)
                divisor *= 10
            } else {
                return nil
            }
        }
        let value = Double(digits) / divisor
        return isNegative ? -value : value
    }

    private func numberText(at position: Int) -> String {
        String(decoding: tokens.bytes(at: position), as: UTF8.self)
    }

    /// Returns a value of any type.
    ///
    /// Some Foundation types' own way of decoding is not that of JSON, and arrays of some types
    /// need no decoder for each element.
    func value<Value: Decodable>(_ type: Value.Type, at position: Int) throws -> Value {
        if type == [String].self { return same(try elements(of: position) { try text(at: $0) }) }
        if type == [Int].self {
            return same(try elements(of: position) { try integer(Int.self, at: $0) })
        }
        if type == [Double].self { return same(try elements(of: position) { try double(at: $0) }) }
        if type == URL.self { return same(try url(at: position)) }
        if type == Data.self { return same(try data(at: position)) }
        if type == JSONValue.self { return same(try value(at: position) as JSONValue) }
        if type == Decimal.self { return same(try decimal(at: position)) }
        return try Value(from: JSONValueDecoder(document: self, position: position))
    }

    /// Returns a value whose type was compared with `Value`; `as?` would look up metadata, in 900
    /// instructions (`Benchmarks/count decodable`).
    @inline(__always)
    private func same<Known, Value>(_ value: Known) -> Value {
        unsafeBitCast(value, to: Value.self)
    }

    private func url(at position: Int) throws -> URL {
        guard let url = URL(string: try text(at: position)) else {
            throw corrupted("A string is not a URL.", at: position)
        }
        return url
    }

    private func data(at position: Int) throws -> Data {
        guard let data = Data(base64Encoded: try text(at: position)) else {
            throw corrupted("A string is not Base64.", at: position)
        }
        return data
    }

    private func decimal(at position: Int) throws -> Decimal {
        guard kind(at: position) == .integer || kind(at: position) == .fraction else {
            throw mismatch(Decimal.self, at: position)
        }
        guard let decimal = Decimal(string: numberText(at: position)) else {
            throw corrupted("A number does not fit in Decimal.", at: position)
        }
        return decimal
    }

    private func value(at position: Int) throws -> JSONValue {
        do throws(JSONSyntaxError) {
            return try tokens.value(at: position)
        } catch {
            throw corrupted("A string cannot be read.", at: position, error)
        }
    }

    private func elements<Element>(
        of array: Int, _ element: (Int) throws -> Element
    ) throws -> [Element] {
        guard kind(at: array) == .array else { throw mismatch([Element].self, at: array) }
        var elements: [Element] = []
        elements.reserveCapacity(Int(tokens[array].count))
        var position = array + 1
        while position < tokens.next(after: array) {
            elements.append(try element(position))
            position = tokens.next(after: position)
        }
        return elements
    }

    // MARK: Errors

    /// The error of a value of another type, or of `null`.
    func mismatch(_ type: any Any.Type, at position: Int) -> DecodingError {
        let found =
            switch kind(at: position) {
            case .null: "null"
            case .true, .false: "a Boolean"
            case .integer, .fraction: "a number"
            case .string: "a string"
            case .array: "an array"
            case .object: "an object"
            }
        let context = DecodingError.Context(
            codingPath: path(to: position),
            debugDescription: "Expected to decode \(type) but found \(found) instead.")
        return kind(at: position) == .null
            ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func corrupted(
        _ description: String, at position: Int, _ error: (any Error)? = nil
    ) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(
                codingPath: path(to: position), debugDescription: description,
                underlyingError: error))
    }

    /// The names and indexes that lead to a value.
    func path(to position: Int) -> [any CodingKey] {
        var (path, position) = ([any CodingKey](), position)
        while position > 0 {
            let token = tokens[position]
            let isMember = kind(at: Int(token.parent)) == .object
            path.append(
                isMember
                    ? JSONPathKey(stringValue: (try? tokens.string(at: position - 1)) ?? "")
                    : JSONPathKey(index: Int(token.index)))
            position = Int(token.parent)
        }
        path.reverse()
        return root + path
    }
}

import FoundationEssentials

/// The error of a Swift value that has no JSON form.
public struct JSONConversionError: Error, Equatable, Sendable {
    /// The position of the value, such as `$.items[2].date`; `$` is the whole value.
    public let path: String
    /// The name of the value's type, or what is wrong with the value.
    public let found: String

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - path: The position of the value, such as `$.items[2].date`.
    ///   - found: The name of the value's type, or what is wrong with the value.
    public init(path: String, found: String) {
        self.path = path
        self.found = found
    }
}

extension JSONConversionError: CustomStringConvertible {
    /// The position, the fault, and the types that can be converted.
    public var description: String {
        "\(path): not JSON: \(found) (use strings, finite numbers, Bool, nil, arrays, dictionaries with string keys, or JSONValue)"
    }
}

extension JSONValue {
    /// Converts a value whose type is known only at run time.
    ///
    /// Converts `JSONValue`, `String`, `Bool`, integers, finite floating-point numbers, `Decimal`,
    /// arrays, dictionaries with string keys, and optionals of these; `nil` becomes ``null``. Also
    /// converts what full Foundation's `JSONSerialization` returns: an `NSNumber` made from a
    /// Boolean becomes a Boolean, any other a number. Members of dictionaries are sorted by name,
    /// so that equal values give equal JSON.
    ///
    /// - Parameter value: A value of one of these types.
    /// - Throws: ``JSONConversionError`` for values of other types, infinities and NaN, and above 512
    ///   levels of arrays and dictionaries.
    public init(converting value: Any) throws(JSONConversionError) {
        self = try JSONValue.converted(value, path: "$", levels: JSONValue.mostLevels)
    }

    /// The most levels of arrays and dictionaries that are converted; those of parsed JSON are limited,
    /// too.
    private static let mostLevels = 512

    /// The value in types of the standard library, for casts such as `as? [String: String]`.
    ///
    /// These are `Bool`, `String`, arrays, dictionaries, and for a number `Int` if it fits, else
    /// `Double`. Of members with equal names the last one is kept; `null` stays ``JSONValue/null``.
    public var anyValue: any Sendable {
        switch self {
        case .null: JSONValue.null
        case .bool(let value): value
        case .string(let value): value
        case .number(let number): number.anyValue
        case .array(let elements): elements.map(\.anyValue)
        case .object(let object):
            Dictionary(
                object.members.map { ($0.name, $0.value.anyValue) }, uniquingKeysWith: { $1 })
        }
    }

    /// - Parameter levels: How many levels of arrays and dictionaries the value may have.
    private static func converted(
        _ value: Any, path: String, levels: Int
    ) throws(JSONConversionError) -> JSONValue {
        if let scalar = FoundationScalar(value) { return try converted(scalar, path) }
        switch value {
        case let value as JSONValue: return value
        case let value as String: return .string(value)
        // Before the casts to numbers, which unwrap an optional.
        case let value as any AnyOptional:
            guard let wrapped = value.wrapped else { return .null }
            return try converted(wrapped, path: path, levels: levels)
        case let value as Bool: return .bool(value)
        case let value as any BinaryInteger: return .number(JSONNumber(value))
        case let value as Float: return try number(value.description, value.isFinite, path)
        case let value as any BinaryFloatingPoint:
            let value = Double(value)
            return try number(value.description, value.isFinite, path)
        case let value as Decimal: return try number(value.description, !value.isNaN, path)
        case let members as [String: Any]:
            return try object(members, path: path, levels: levels - 1)
        case let elements as [Any]: return try array(elements, path: path, levels: levels - 1)
        default: throw JSONConversionError(path: path, found: "\(type(of: value))")
        }
    }

    private static func converted(
        _ scalar: FoundationScalar, _ path: String
    ) throws(JSONConversionError) -> JSONValue {
        switch scalar {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .number(let text):
            guard let number = JSONNumber(text: text) else {
                throw JSONConversionError(path: path, found: "the number \(text)")
            }
            return .number(number)
        }
    }

    private static func check(_ levels: Int, _ path: String) throws(JSONConversionError) {
        guard levels < 0 else { return }
        // The beginning of the path, which has as many parts.
        throw JSONConversionError(
            path: path.shortened(toBytes: 64),
            found: "more than \(mostLevels) levels of arrays and dictionaries")
    }

    private static func object(
        _ members: [String: Any], path: String, levels: Int
    ) throws(JSONConversionError) -> JSONValue {
        try check(levels, path)
        var converted: [JSONObject.Member] = []
        converted.reserveCapacity(members.count)
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let member = try JSONValue.converted(
                value, path: "\(path).\(name)", levels: levels)
            converted.append(JSONObject.Member(name: name, value: member))
        }
        return .object(JSONObject(parsed: converted))
    }

    private static func array(
        _ elements: [Any], path: String, levels: Int
    ) throws(JSONConversionError) -> JSONValue {
        try check(levels, path)
        var converted: [JSONValue] = []
        converted.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            converted.append(
                try JSONValue.converted(element, path: "\(path)[\(index)]", levels: levels))
        }
        return .array(converted)
    }

    private static func number(
        _ text: String, _ isFinite: Bool, _ path: String
    ) throws(JSONConversionError) -> JSONValue {
        guard isFinite else { throw JSONConversionError(path: path, found: "the number \(text)") }
        // Swift writes 1e+20 and 5.0; both are JSON.
        return .number(JSONNumber(parsed: text))
    }
}

/// An optional whose wrapped type is not known statically.
package protocol AnyOptional {
    /// The wrapped value.
    var wrapped: Any? { get }
}

extension Optional: AnyOptional {
    package var wrapped: Any? { self }
}

extension JSONNumber {
    /// The number as an `Int` if it fits, else as a `Double`.
    fileprivate var anyValue: any Sendable {
        if let value = intValue.flatMap({ Int(exactly: $0) }) { return value }
        return doubleValue
    }
}

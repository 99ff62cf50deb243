import FoundationEssentials

/// A Swift value that JSON cannot carry, and where it was.
public struct JSONConversionError: Error, Equatable, Sendable {
    /// Where it stands, as in `$.items[2].date`; `$` is the whole value.
    public let path: String
    /// The name of its type, or what is wrong with it.
    public let found: String

    /// Names a value.
    public init(path: String, found: String) {
        self.path = path
        self.found = found
    }
}

extension JSONConversionError: CustomStringConvertible {
    /// Where, what, and what would do.
    public var description: String {
        "\(path): not JSON: \(found) (use strings, finite numbers, Bool, nil, arrays, dictionaries with string keys, or JSONValue)"
    }
}

extension JSONValue {
    /// The JSON of a value whose type is known at run time only.
    ///
    /// Takes `JSONValue`, `String`, `Bool`, integers, finite floating-point numbers, `Decimal`,
    /// arrays, dictionaries with string keys, and optionals of these; `nil` becomes `null`. Takes
    /// what full Foundation's `JSONSerialization` makes too: an `NSNumber` stays the truth value or
    /// the number that it is. Members of dictionaries are sorted by name, so that equal values give
    /// equal JSON.
    ///
    /// - Throws: ``JSONConversionError`` for all else.
    public init(converting value: Any) throws(JSONConversionError) {
        self = try JSONValue.converted(value, path: "$")
    }

    /// The value in the standard library's types, for casts such as `as? [String: String]`.
    ///
    /// `Bool`, `String`, `Int` where it fits, else `Double`, arrays, and dictionaries in which the last
    /// of several members of one name counts; `null` stays ``JSONValue/null``.
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

    private static func converted(
        _ value: Any, path: String
    ) throws(JSONConversionError) -> JSONValue {
        if let scalar = FoundationScalar(value) { return try converted(scalar, path) }
        switch value {
        case let value as JSONValue: return value
        case let value as String: return .string(value)
        // Before the casts to numbers, which look into an optional.
        case let value as any AnyOptional:
            guard let wrapped = value.wrapped else { return .null }
            return try converted(wrapped, path: path)
        case let value as Bool: return .bool(value)
        case let value as any BinaryInteger: return .number(JSONNumber(value))
        case let value as Float: return try number(value.description, value.isFinite, path)
        case let value as any BinaryFloatingPoint:
            let value = Double(value)
            return try number(value.description, value.isFinite, path)
        case let value as Decimal: return try number(value.description, !value.isNaN, path)
        case let members as [String: Any]: return try object(members, path: path)
        case let elements as [Any]: return try array(elements, path: path)
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

    private static func object(
        _ members: [String: Any], path: String
    ) throws(JSONConversionError) -> JSONValue {
        var converted: [JSONObject.Member] = []
        converted.reserveCapacity(members.count)
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let member = try JSONValue.converted(value, path: "\(path).\(name)")
            converted.append(JSONObject.Member(name: name, value: member))
        }
        return .object(JSONObject(parsed: converted))
    }

    private static func array(
        _ elements: [Any], path: String
    ) throws(JSONConversionError) -> JSONValue {
        var converted: [JSONValue] = []
        converted.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            converted.append(try JSONValue.converted(element, path: "\(path)[\(index)]"))
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

/// An optional whose wrapped type is not known.
package protocol AnyOptional {
    /// What it holds, if anything.
    var wrapped: Any? { get }
}

extension Optional: AnyOptional {
    package var wrapped: Any? { self }
}

extension JSONNumber {
    /// As an `Int` where it fits.
    fileprivate var anyValue: any Sendable {
        if let value = intValue.flatMap({ Int(exactly: $0) }) { return value }
        return doubleValue
    }
}

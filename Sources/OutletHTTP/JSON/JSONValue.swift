/// A JSON value (RFC 8259) that keeps the order of object members and the text of numbers.
public enum JSONValue: Sendable, Equatable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, kept as it was written.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)
}

extension JSONValue {
    /// Makes a number from an integer.
    ///
    /// - Parameter value: The integer.
    public static func int(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }

    /// Makes a number from a `Double`; ``null`` for infinities and NaN, which JSON does not have.
    ///
    /// - Parameter value: The number; written with the fewest digits that give the same value
    ///   again.
    public static func double(_ value: Double) -> JSONValue {
        JSONNumber(value).map(JSONValue.number) ?? .null
    }

    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The value of a `true` or `false`; `nil` for other values.
    public var boolValue: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The value of a number without fraction or exponent that fits in `Int64`; `nil` for other
    /// values.
    public var intValue: Int64? {
        guard case .number(let number) = self else { return nil }
        return number.intValue
    }

    /// The value of a number, rounded to `Double`; `nil` for other values.
    public var doubleValue: Double? {
        guard case .number(let number) = self else { return nil }
        return number.doubleValue
    }

    /// The text of a string; `nil` for other values.
    public var stringValue: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The elements of an array; `nil` for other values.
    public var arrayValue: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members of an object; `nil` for other values.
    public var objectValue: JSONObject? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// The value of an object's member; `nil` if there is none, or this is not an object.
    ///
    /// - Parameter name: The member's name, case-sensitive; of a repeated name the last value is
    ///   found.
    public subscript(name: String) -> JSONValue? { objectValue?[name] }

    /// The element of an array; `nil` if the position is out of range, or this is not an array.
    ///
    /// - Parameter position: The index of the element, from 0.
    public subscript(position: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(position) else {
            return nil
        }
        return elements[position]
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`.
    ///
    /// - Parameter nilLiteral: Ignored.
    public init(nilLiteral: ()) { self = .null }
    /// `true` or `false`.
    ///
    /// - Parameter value: The literal's value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An integer.
    ///
    /// - Parameter value: The literal's value.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// A floating-point number.
    ///
    /// - Parameter value: The literal's value; written with the fewest digits that give it again.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A string.
    ///
    /// - Parameter value: The string, not escaped.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array.
    ///
    /// - Parameter elements: The elements, in order.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object; of equal names the last value wins.
    ///
    /// - Parameter elements: The names and values, in order.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements))
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON.
    public var description: String { text() }
}

/// A JSON number, stored as its text so that no digit is lost.
///
/// Equality compares the text: `1.0` and `1` differ.
public struct JSONNumber: Sendable, Equatable, Hashable {
    /// The number in the syntax of JSON (RFC 8259 §6).
    public let text: String

    /// Makes a number from an integer of any size.
    ///
    /// - Parameter value: The integer; written in decimal digits.
    public init(_ value: some BinaryInteger) { text = String(value) }

    /// Makes a number from a `Double`, with the fewest digits that give the same value again.
    ///
    /// - Parameter value: The number; infinities and NaN, which JSON does not have, give `nil`.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        // Swift writes 1e+20 and 5.0; both are JSON.
        text = value.description
    }

    /// Makes a number from text; `nil` if the text is not a JSON number.
    ///
    /// - Parameter text: A number in the syntax of JSON (RFC 8259 §6), of any precision.
    public init?(text: String) {
        guard case .number(let number)? = try? JSONValue(parsing: text), number.text == text else {
            return nil
        }
        self = number
    }

    init(parsed text: String) { self.text = text }

    /// The number as an integer; `nil` if it has a fraction or an exponent, or does not fit.
    public var intValue: Int64? { Int64(text) }

    /// The number rounded to the nearest `Double`; infinite if it is too large.
    public var doubleValue: Double { Double(text) ?? .nan }
}

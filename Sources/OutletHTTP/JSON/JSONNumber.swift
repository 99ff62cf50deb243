/// A JSON number as it was written, so that no digit is lost on the way.
///
/// Equality compares the letters: `1.0` and `1` differ.
public struct JSONNumber: Sendable, Equatable, Hashable {
    /// The number as it stands in the text (RFC 8259 §6).
    public let text: String

    /// A whole number.
    public init(_ value: some BinaryInteger) { text = String(value) }

    /// A number of double precision, in the fewest digits that read back the same; `nil` for
    /// infinities and NaN, which JSON cannot carry.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        // Swift writes 1e+20 and 5.0; both are JSON.
        text = value.description
    }

    /// A number from text; `nil` when that is not a JSON number.
    ///
    /// - Parameter text: A number in the syntax of JSON (RFC 8259 §6); kept as it is, at any precision.
    public init?(text: String) {
        guard case .number(let number)? = try? JSONValue(parsing: text), number.text == text else {
            return nil
        }
        self = number
    }

    init(parsed text: String) { self.text = text }

    /// The number as a whole one; `nil` when it has a fraction or an exponent, or does not fit.
    public var intValue: Int64? { Int64(text) }

    /// The number in double precision, rounded to the nearest; infinite when it is too large.
    public var doubleValue: Double { Double(text) ?? .nan }
}

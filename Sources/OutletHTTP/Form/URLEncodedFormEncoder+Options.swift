public import FoundationEssentials

extension URLEncodedFormEncoder {
    /// How the keys of array elements are written.
    public enum ArrayEncoding: Sendable {
        /// `key[]`.
        case brackets
        /// `key`.
        case noBrackets
        /// `key[0]`.
        case indexInBrackets
        /// The result of the closure, called with the array's key and the element's index from 0.
        case custom(@Sendable (_ key: String, _ index: Int) -> String)

        package func encode(_ key: String, atIndex index: Int) -> String {
            switch self {
            case .brackets: "\(key)[]"
            case .noBrackets: key
            case .indexInBrackets: "\(key)[\(index)]"
            case .custom(let encoding): encoding(key, index)
            }
        }
    }

    /// How `Bool` is written.
    public enum BoolEncoding: Sendable {
        /// `1` and `0`.
        case numeric
        /// `true` and `false`.
        case literal

        package func encode(_ value: Bool) -> String {
            switch self {
            case .numeric: value ? "1" : "0"
            case .literal: value ? "true" : "false"
            }
        }
    }

    /// How `Data` is written.
    public enum DataEncoding: Sendable {
        /// As `Data` encodes itself: an array of bytes.
        case deferredToData
        /// As Base64 (RFC 4648 §4).
        case base64
        /// The result of the closure; encoding fails with the error that it throws.
        case custom(@Sendable (Data) throws -> String)

        /// Returns the text; `nil` if the data encodes itself.
        func encode(_ data: Data) throws -> String? {
            switch self {
            case .deferredToData: nil
            case .base64: data.base64EncodedString()
            case .custom(let encoding): try encoding(data)
            }
        }
    }

    /// How `Date` is written.
    public enum DateEncoding: Sendable {
        /// As `Date` encodes itself: seconds since 2001-01-01 00:00 UTC, with a fraction.
        case deferredToDate
        /// As seconds since 1970-01-01 00:00 UTC, with a fraction.
        case secondsSince1970
        /// As milliseconds since 1970-01-01 00:00 UTC, with a fraction.
        case millisecondsSince1970
        /// In the format of RFC 3339, in UTC and whole seconds, such as `2026-01-31T08:49:37Z`.
        case iso8601
        /// The result of the closure; encoding fails with the error that it throws.
        case custom(@Sendable (Date) throws -> String)

        /// Formats dates with a format style.
        ///
        /// - Parameter style: Called for each date, on the thread that encodes; must return the
        ///   whole text.
        public static func formatted<Style: FormatStyle & Sendable>(_ style: Style) -> DateEncoding
        where Style.FormatInput == Date, Style.FormatOutput == String {
            .custom { style.format($0) }
        }

        /// Returns the text; `nil` if the date encodes itself.
        func encode(_ date: Date) throws -> String? {
            switch self {
            case .deferredToDate: nil
            case .secondsSince1970: String(date.timeIntervalSince1970)
            case .millisecondsSince1970: String(date.timeIntervalSince1970 * 1000)
            case .iso8601: Date.ISO8601FormatStyle().format(date)
            case .custom(let encoding): try encoding(date)
            }
        }
    }

    /// How the key of a nested member is appended to its parent's key.
    public struct KeyPathEncoding: Sendable {
        /// `parent[child]`.
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// `parent.child`.
        public static let dots = KeyPathEncoding { ".\($0)" }

        private let encoding: @Sendable (_ subkey: String) -> String

        /// Makes an encoding from a closure.
        ///
        /// - Parameter encoding: Returns the text to append to the parent's key for the key of a
        ///   member, such as `[name]` for `name`.
        public init(encoding: @escaping @Sendable (_ subkey: String) -> String) {
            self.encoding = encoding
        }

        func encodeKeyPath(_ subkey: String) -> String { encoding(subkey) }
    }

    /// How `nil` is written.
    public struct NilEncoding: Sendable {
        /// Leaves the pair out.
        public static let dropKey = NilEncoding { nil }
        /// Writes an empty value: `key=`.
        public static let dropValue = NilEncoding { "" }
        /// Writes the word `null`: `key=null`.
        public static let null = NilEncoding { "null" }
        /// Writes `null` if a type calls `encodeNil` or encodes an optional with `encode`; leaves
        /// the pair out if it calls `encodeIfPresent`, as synthesised `Encodable` does.
        public static let intentionalOnly = NilEncoding(
            encode: { "null" }, encodeIfPresent: { nil })

        private let encoded: @Sendable () -> String?
        private let absent: @Sendable () -> String?

        /// Makes an encoding from a closure.
        ///
        /// - Parameter encoding: Returns the value to write; `nil` leaves the pair out.
        public init(encoding: @escaping @Sendable () -> String?) {
            self.init(encode: encoding, encodeIfPresent: encoding)
        }

        /// Makes an encoding that distinguishes how the type encodes `nil`.
        ///
        /// - Parameters:
        ///   - encode: Returns the value to write if the type encodes `nil` itself; `nil` leaves
        ///     the pair out.
        ///   - encodeIfPresent: Returns the value to write if the type calls `encodeIfPresent` with
        ///     `nil`; `nil` leaves the pair out.
        public init(
            encode: @escaping @Sendable () -> String?,
            encodeIfPresent: @escaping @Sendable () -> String?
        ) {
            encoded = encode
            absent = encodeIfPresent
        }

        func encodeNil(isAbsent: Bool) -> String? { isAbsent ? absent() : encoded() }
    }

    /// How a space is written.
    public enum SpaceEncoding: Sendable {
        /// `%20`.
        case percentEscaped
        /// `+`, as browsers write forms.
        case plusReplaced

        var replacement: StaticString {
            switch self {
            case .percentEscaped: "%20"
            case .plusReplaced: "+"
            }
        }
    }
}

public import FoundationEssentials

extension URLEncodedFormEncoder {
    /// How the keys of array elements are spelt.
    public enum ArrayEncoding: Sendable {
        /// `key[]`.
        case brackets
        /// `key`.
        case noBrackets
        /// `key[0]`.
        case indexInBrackets
        /// What the closure makes of key and index.
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

    /// How truth values are spelt.
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

    /// How `Data` is spelt.
    public enum DataEncoding: Sendable {
        /// As `Data` encodes itself: an array of bytes.
        case deferredToData
        /// As Base64 (RFC 4648 §4).
        case base64
        /// As the closure says.
        case custom(@Sendable (Data) throws -> String)

        /// The text, or `nil` when the data is to encode itself.
        func encode(_ data: Data) throws -> String? {
            switch self {
            case .deferredToData: nil
            case .base64: data.base64EncodedString()
            case .custom(let encoding): try encoding(data)
            }
        }
    }

    /// How `Date` is spelt.
    public enum DateEncoding: Sendable {
        /// As `Date` encodes itself: seconds since the beginning of 2001, UTC.
        case deferredToDate
        /// As seconds since the beginning of 1970, UTC, with a fraction.
        case secondsSince1970
        /// As milliseconds since the beginning of 1970, UTC, with a fraction.
        case millisecondsSince1970
        /// As RFC 3339 has it, in whole seconds, UTC.
        case iso8601
        /// As the closure says.
        case custom(@Sendable (Date) throws -> String)

        /// As a format style says.
        public static func formatted<Style: FormatStyle & Sendable>(_ style: Style) -> DateEncoding
        where Style.FormatInput == Date, Style.FormatOutput == String {
            .custom { style.format($0) }
        }

        /// The text, or `nil` when the date is to encode itself.
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

    /// How the key of a nested member is joined to its parent's.
    public struct KeyPathEncoding: Sendable {
        /// `parent[child]`.
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// `parent.child`.
        public static let dots = KeyPathEncoding { ".\($0)" }

        private let encoding: @Sendable (_ subkey: String) -> String

        /// Makes an encoding from a closure.
        ///
        /// - Parameter encoding: Returns what is appended to the parent's key, such as `[name]` for `name`.
        public init(encoding: @escaping @Sendable (_ subkey: String) -> String) {
            self.encoding = encoding
        }

        func encodeKeyPath(_ subkey: String) -> String { encoding(subkey) }
    }

    /// What stands for `nil`.
    public struct NilEncoding: Sendable {
        /// Nothing: the pair is left out.
        public static let dropKey = NilEncoding { nil }
        /// An empty value: `key=`.
        public static let dropValue = NilEncoding { "" }
        /// The word: `key=null`.
        public static let null = NilEncoding { "null" }
        /// The word where a type encodes `nil`, nothing where it encodes what is there only, as the
        /// compiler's own encoding of optional members does.
        public static let intentionalOnly = NilEncoding(
            encode: { "null" }, encodeIfPresent: { nil })

        private let encoded: @Sendable () -> String?
        private let absent: @Sendable () -> String?

        /// Makes an encoding from a closure.
        ///
        /// - Parameter encoding: Returns the value; `nil` leaves the pair out.
        public init(encoding: @escaping @Sendable () -> String?) {
            self.init(encode: encoding, encodeIfPresent: encoding)
        }

        /// Makes an encoding that tells why there is `nil`.
        ///
        /// - Parameters:
        ///   - encode: The value where `nil` is encoded; `nil` leaves the pair out.
        ///   - encodeIfPresent: The value where one is encoded only if it is there, and is not.
        public init(
            encode: @escaping @Sendable () -> String?,
            encodeIfPresent: @escaping @Sendable () -> String?
        ) {
            encoded = encode
            absent = encodeIfPresent
        }

        func encodeNil(isAbsent: Bool) -> String? { isAbsent ? absent() : encoded() }
    }

    /// What stands for a space.
    public enum SpaceEncoding: Sendable {
        /// `%20`.
        case percentEscaped
        /// `+`, as browsers' forms have it.
        case plusReplaced

        var replacement: StaticString {
            switch self {
            case .percentEscaped: "%20"
            case .plusReplaced: "+"
            }
        }
    }
}

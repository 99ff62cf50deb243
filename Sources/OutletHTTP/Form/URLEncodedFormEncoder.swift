public import FoundationEssentials

/// Encodes values as `application/x-www-form-urlencoded` text: `key=value` pairs joined by `&`.
///
/// The value must encode as an object: a keyed type or a dictionary. Arrays keep their order.
public final class URLEncodedFormEncoder: Sendable {
    /// The error of a value that cannot be encoded as a form.
    public enum Error: Swift.Error, Equatable {
        /// A value of this type encodes without keys: as an array or a scalar.
        case invalidRootObject(String)
    }

    /// Whether the pairs of each object are sorted as text, so that equal values give equal forms.
    ///
    /// If `false`, pairs have the order in which the value encodes them; the order of a dictionary
    /// changes from run to run.
    public let alphabetizeKeyValuePairs: Bool
    /// How the keys of array elements are written.
    public let arrayEncoding: ArrayEncoding
    /// How `Bool` is written.
    public let boolEncoding: BoolEncoding
    /// How `Data` is written.
    public let dataEncoding: DataEncoding
    /// How `Date` is written.
    public let dateEncoding: DateEncoding
    /// How each key is changed.
    public let keyEncoding: KeyEncoding
    /// How the key of a nested member is appended to its parent's key.
    public let keyPathEncoding: KeyPathEncoding
    /// How `nil` is written.
    public let nilEncoding: NilEncoding
    /// How a space is written.
    public let spaceEncoding: SpaceEncoding
    /// The characters that are not percent-encoded.
    public let allowedCharacters: AllowedCharacters

    /// Makes an encoder; each option is described at the property of the same name.
    ///
    /// - Parameters:
    ///   - alphabetizeKeyValuePairs: Whether the pairs of each object are sorted as text; true by
    ///     default.
    ///   - arrayEncoding: How the keys of array elements are written; `key[]` by default.
    ///   - boolEncoding: How `Bool` is written; `1` and `0` by default.
    ///   - dataEncoding: How `Data` is written; Base64 by default.
    ///   - dateEncoding: How `Date` is written; by default as seconds since 2001, as `Date` encodes
    ///     itself.
    ///   - keyEncoding: How each key is changed; not at all by default.
    ///   - keyPathEncoding: How the key of a nested member is appended to its parent's key;
    ///     `parent[child]` by default.
    ///   - nilEncoding: How `nil` is written; by default the pair is left out.
    ///   - spaceEncoding: How a space is written; `%20` by default.
    ///   - allowedCharacters: The characters that are not percent-encoded; by default
    ///     ``AllowedCharacters/urlQueryComponentAllowed``.
    public init(
        alphabetizeKeyValuePairs: Bool = true,
        arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric,
        dataEncoding: DataEncoding = .base64,
        dateEncoding: DateEncoding = .deferredToDate,
        keyEncoding: KeyEncoding = .useDefaultKeys,
        keyPathEncoding: KeyPathEncoding = .brackets,
        nilEncoding: NilEncoding = .dropKey,
        spaceEncoding: SpaceEncoding = .percentEscaped,
        allowedCharacters: AllowedCharacters = .urlQueryComponentAllowed
    ) {
        self.alphabetizeKeyValuePairs = alphabetizeKeyValuePairs
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
        self.dataEncoding = dataEncoding
        self.dateEncoding = dateEncoding
        self.keyEncoding = keyEncoding
        self.keyPathEncoding = keyPathEncoding
        self.nilEncoding = nilEncoding
        self.spaceEncoding = spaceEncoding
        self.allowedCharacters = allowedCharacters
    }

    /// Encodes a value as a form.
    ///
    /// - Parameter value: A value that encodes with keys, such as a dictionary.
    /// - Returns: The pairs, percent-encoded; an empty string if there are none.
    /// - Throws: ``Error/invalidRootObject(_:)`` if the value encodes without keys; any error of a
    ///   custom option or of the value's `encode(to:)`.
    public func encode(_ value: any Encodable) throws -> String {
        let root = FormSlot()
        try value.encode(to: FormEncoding(slot: root, codingPath: [], options: self))
        guard case .object(let members) = root.component else {
            throw Error.invalidRootObject("\(type(of: value))")
        }
        return FormSerializer(options: self).serialize(members)
    }

    /// Encodes a value as a form in UTF-8.
    ///
    /// - Parameter value: A value that encodes with keys, such as a dictionary.
    /// - Returns: The pairs, percent-encoded; empty if there are none.
    /// - Throws: ``Error/invalidRootObject(_:)`` if the value encodes without keys; any error of a
    ///   custom option or of the value's `encode(to:)`.
    public func encode(_ value: any Encodable) throws -> Data {
        let form: String = try encode(value)
        return Data(form.utf8)
    }
}

extension URLEncodedFormEncoder.Error: CustomStringConvertible {
    /// The type of the value, and what a form requires.
    public var description: String {
        switch self {
        case .invalidRootObject(let type):
            "\(type): not a form: it encodes without keys; use a keyed type or a dictionary"
        }
    }
}

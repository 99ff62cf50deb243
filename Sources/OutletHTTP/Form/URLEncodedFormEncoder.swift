public import FoundationEssentials

/// Encodes values as `application/x-www-form-urlencoded` text: `key=value` pairs joined by `&`.
///
/// The value must encode as an object: a keyed type or a dictionary. Arrays keep their order.
public final class URLEncodedFormEncoder: Sendable {
    /// Why a value cannot be a form.
    public enum Error: Swift.Error, Equatable {
        /// The value of this type has no keys of its own: it is an array or a scalar.
        case invalidRootObject(String)
    }

    /// Whether the pairs of each object are sorted as text, so that equal values give equal forms.
    ///
    /// When off, pairs come in the order in which the value encodes them; a dictionary's order
    /// changes from run to run.
    public let alphabetizeKeyValuePairs: Bool
    /// How the keys of array elements are spelt.
    public let arrayEncoding: ArrayEncoding
    /// How truth values are spelt.
    public let boolEncoding: BoolEncoding
    /// How `Data` is spelt.
    public let dataEncoding: DataEncoding
    /// How `Date` is spelt.
    public let dateEncoding: DateEncoding
    /// How each key is changed.
    public let keyEncoding: KeyEncoding
    /// How the key of a nested member is joined to its parent's.
    public let keyPathEncoding: KeyPathEncoding
    /// What stands for `nil`.
    public let nilEncoding: NilEncoding
    /// What stands for a space.
    public let spaceEncoding: SpaceEncoding
    /// What is not percent-encoded.
    public let allowedCharacters: AllowedCharacters

    /// Makes an encoder.
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

    /// The form of a value.
    ///
    /// - Throws: ``Error``, what a custom option throws, what the value's own `encode(to:)` throws.
    public func encode(_ value: any Encodable) throws -> String {
        let root = FormSlot()
        try value.encode(to: FormEncoding(slot: root, codingPath: [], options: self))
        guard case .object(let members) = root.component else {
            throw Error.invalidRootObject("\(type(of: value))")
        }
        return FormSerializer(options: self).serialize(members)
    }

    /// The form of a value, in UTF-8.
    ///
    /// - Throws: As `encode(_:)-(any_Encodable)`.
    public func encode(_ value: any Encodable) throws -> Data {
        let form: String = try encode(value)
        return Data(form.utf8)
    }
}

extension URLEncodedFormEncoder.Error: CustomStringConvertible {
    /// What was given, and what a form needs.
    public var description: String {
        switch self {
        case .invalidRootObject(let type):
            "\(type): not a form: it encodes without keys; use a keyed type or a dictionary"
        }
    }
}

import FoundationEssentials

/// The encoder passed to `Encodable` types; it fills one slot of the tree.
struct FormEncoding: Encoder {
    let slot: FormSlot
    let codingPath: [any CodingKey]
    let options: URLEncodedFormEncoder
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        slot.becomeObject()
        return KeyedEncodingContainer(KeyedFormContainer(encoding: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedFormContainer(encoding: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueFormContainer(encoding: self)
    }

    /// Returns an encoder for a nested slot.
    func nested(_ slot: FormSlot, _ key: any CodingKey) -> FormEncoding {
        FormEncoding(slot: slot, codingPath: codingPath + [key], options: options)
    }

    /// Writes `nil` as the option says.
    ///
    /// - Parameter isAbsent: Whether the type called `encodeIfPresent`.
    func encodeNil(isAbsent: Bool = false) {
        slot.component = options.nilEncoding.encodeNil(isAbsent: isAbsent)
            .map(FormComponent.string)
    }

    /// Writes a value; scalars, dates, data and URLs are written as text and do not encode
    /// themselves.
    func encode(_ value: some Encodable) throws {
        if let text = try text(of: value) {
            slot.component = .string(text)
        } else {
            try value.encode(to: self)
        }
    }

    private func text(of value: some Encodable) throws -> String? {
        switch value {
        case let value as String: value
        case let value as Bool: options.boolEncoding.encode(value)
        case let value as Date: try options.dateEncoding.encode(value)
        case let value as Data: try options.dataEncoding.encode(value)
        case let value as Decimal: value.description
        case let value as URL: value.absoluteString
        case let value as any BinaryInteger: value.description
        case let value as Double: value.description
        case let value as Float: value.description
        default: nil
        }
    }
}

private struct SingleValueFormContainer: SingleValueEncodingContainer {
    let encoding: FormEncoding
    var codingPath: [any CodingKey] { encoding.codingPath }

    mutating func encodeNil() { encoding.encodeNil() }
    mutating func encode<T: Encodable>(_ value: T) throws { try encoding.encode(value) }
    // The default of these two throws.
    mutating func encode(_ value: Int128) throws { try encoding.encode(value) }
    mutating func encode(_ value: UInt128) throws { try encoding.encode(value) }
}

private struct UnkeyedFormContainer: UnkeyedEncodingContainer {
    let encoding: FormEncoding
    var codingPath: [any CodingKey] { encoding.codingPath }
    var count: Int { encoding.slot.count }

    private func next() -> FormEncoding {
        let index = FormKey(index: count)
        return encoding.nested(encoding.slot.element(), index)
    }

    mutating func encodeNil() { next().encodeNil() }
    mutating func encode<T: Encodable>(_ value: T) throws { try next().encode(value) }
    // The default of these two throws.
    mutating func encode(_ value: Int128) throws { try next().encode(value) }
    mutating func encode(_ value: UInt128) throws { try next().encode(value) }

    mutating func nestedContainer<Key: CodingKey>(
        keyedBy type: Key.Type
    ) -> KeyedEncodingContainer<Key> { next().container(keyedBy: type) }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        next().unkeyedContainer()
    }

    // Before the first element, the superclass encodes into this container itself.
    mutating func superEncoder() -> any Encoder { count == 0 ? encoding : next() }
}

private struct KeyedFormContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoding: FormEncoding
    var codingPath: [any CodingKey] { encoding.codingPath }

    private func member(_ key: any CodingKey) -> FormEncoding {
        encoding.nested(encoding.slot.member(key.stringValue), key)
    }

    /// Keeps what was encoded for the key before, if the new container is of the same kind.
    private func opened(_ key: any CodingKey) -> FormEncoding {
        encoding.nested(encoding.slot.opened(key.stringValue), key)
    }

    mutating func encodeNil(forKey key: Key) { member(key).encodeNil() }
    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try member(key).encode(value)
    }
    // The default of these two throws.
    mutating func encode(_ value: Int128, forKey key: Key) throws { try member(key).encode(value) }
    mutating func encode(_ value: UInt128, forKey key: Key) throws { try member(key).encode(value) }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> { opened(key).container(keyedBy: type) }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        opened(key).unkeyedContainer()
    }

    // A form has no key for a superclass: its members are written next to those of the class.
    mutating func superEncoder() -> any Encoder { encoding }
    mutating func superEncoder(forKey key: Key) -> any Encoder { opened(key) }

    // The default implementations skip `nil` and would ignore `nilEncoding`.

    private func encodeOrNil(_ value: (some Encodable)?, _ key: Key) throws {
        if let value {
            try member(key).encode(value)
        } else {
            member(key).encodeNil(isAbsent: true)
        }
    }
    mutating func encodeIfPresent(_ value: Bool?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: String?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: Float?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: Int?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: Int8?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: Int16?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: Int32?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: Int64?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: Int128?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: UInt?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
    mutating func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }
}

/// The coding key of an array element.
private struct FormKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(index: Int) {
        stringValue = "\(index)"
        intValue = index
    }

    init?(stringValue: String) { return nil }
    init?(intValue: Int) { self.init(index: intValue) }
}

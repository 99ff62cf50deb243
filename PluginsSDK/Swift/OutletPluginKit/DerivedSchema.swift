import FoundationEssentials

/// A JSON Schema (draft 7) derived from a `Decodable` type.
///
/// The type is decoded by a decoder that returns a placeholder for each value and records the keys
/// and types that are decoded. A part that rejects its placeholder has no constraints in the
/// schema; an object that is not decoded further because of it allows other keys.
indirect enum DerivedSchema {
    /// Any value.
    case any
    /// A JSON type, with the minimum and maximum of numbers.
    case plain(String, least: String? = nil, most: String? = nil)
    /// One of a list of values, given as JSON.
    case choice([String])
    case list(DerivedSchema)
    case map(DerivedSchema)
    /// An object; if decoding it failed at one of the members, others may follow.
    case object([Member], mayHaveOthers: Bool)

    struct Member {
        let name: String
        var schema: DerivedSchema
        let isNeeded: Bool
    }

    /// The maximum nesting of types; limits recursive types.
    private static let mostLevels = 16

    /// The schema of a type as JSON; empty unless the type is decoded from an object.
    static func text<Value: Decodable>(of type: Value.Type) -> String {
        let schema = probe(type, level: 0).schema
        if case .object = schema { return schema.json }
        if case .map = schema { return schema.json }
        return ""
    }

    /// Decodes a type from placeholders.
    ///
    /// - Returns: The schema, and the decoded value; `nil` if decoding failed.
    static func probe<Value: Decodable>(
        _ type: Value.Type, level: Int
    ) -> (schema: DerivedSchema, value: Value?) {
        guard level < mostLevels else { return (.any, nil) }
        if let known = known(type) { return known }
        if let list = type as? any ProbedList.Type {
            return (.list(list.element(level: level + 1)), list.empty as? Value)
        }
        if let map = type as? any ProbedMap.Type {
            return (.map(map.element(level: level + 1)), map.empty as? Value)
        }
        if let choice = type as? any (CaseIterable & RawRepresentable).Type,
            let (values, first) = choices(choice), let value = first as? Value
        {
            return (.choice(values), value)
        }
        let notes = ProbeNotes(level: level)
        guard let value = try? Value(from: ProbeDecoder(notes: notes)) else {
            return (notes.schema.open, nil)
        }
        return (notes.schema, value)
    }

    /// The schema and placeholder of scalar types, Foundation's included.
    private static func known<Value>(_ type: Value.Type) -> (DerivedSchema, Value?)? {
        switch type {
        case is String.Type: (.plain("string"), "" as? Value)
        case is Bool.Type: (.plain("boolean"), false as? Value)
        case is Double.Type: (.plain("number"), 0.0 as? Value)
        case is Float.Type:
            (
                .plain(
                    "number", least: "-\(Float.greatestFiniteMagnitude)",
                    most: "\(Float.greatestFiniteMagnitude)"), Float(0) as? Value
            )
        case is Decimal.Type: (.plain("number"), Decimal(0) as? Value)
        case is Date.Type: (.plain("number"), Date(timeIntervalSince1970: 0) as? Value)
        case is Data.Type: (.plain("string"), Data() as? Value)
        case is URL.Type: (.plain("string"), URL(string: "http://a.example/") as? Value)
        case is UUID.Type: (.plain("string"), UUID() as? Value)
        case let whole as any FixedWidthInteger.Type: (Self.whole(whole), whole.init(0) as? Value)
        default: nil
        }
    }

    private static func whole<Number: FixedWidthInteger>(_ type: Number.Type) -> DerivedSchema {
        // Larger bounds are no integers for the host.
        .plain(
            "integer", least: Number.bitWidth > 64 ? nil : "\(Number.min)",
            most: Number.bitWidth > 64 ? nil : "\(Number.max)")
    }

    private static func choices<Choice: CaseIterable & RawRepresentable>(
        _ type: Choice.Type
    ) -> (values: [String], first: Choice)? {
        guard let first = type.allCases.first else { return nil }
        var values: [String] = []
        for choice in type.allCases {
            switch choice.rawValue {
            case let text as String: values.append(quoted(text))
            case let number as any FixedWidthInteger: values.append("\(number)")
            default: return nil
            }
        }
        return (values, first)
    }

    /// The schema of a type of which decoding failed: it may also do without the keys that it has
    /// tried.
    private var open: DerivedSchema {
        guard case .object(let members, _) = self, !members.isEmpty else { return .any }
        let optional = members.map { Member(name: $0.name, schema: $0.schema, isNeeded: false) }
        return .object(optional, mayHaveOthers: true)
    }

    /// The schema as JSON.
    var json: String {
        switch self {
        case .any: return "{}"
        case .plain(let kind, let least, let most):
            let bounds = [least.map { #","minimum":\#($0)"# }, most.map { #","maximum":\#($0)"# }]
            return #"{"type":"\#(kind)"\#(bounds.compactMap(\.self).joined())}"#
        case .choice(let values): return #"{"enum":[\#(values.joined(separator: ","))]}"#
        case .list(let element): return #"{"type":"array","items":\#(element.json)}"#
        case .map(let element):
            return #"{"type":"object","additionalProperties":\#(element.json)}"#
        case .object(let members, let mayHaveOthers):
            let properties = members.map { "\(Self.quoted($0.name)):\($0.schema.json)" }
            let needed = members.filter(\.isNeeded).map { Self.quoted($0.name) }
            return #"{"type":"object","properties":{\#(properties.joined(separator: ","))},"#
                + (needed.isEmpty ? "" : #""required":[\#(needed.joined(separator: ","))],"#)
                + #""additionalProperties":\#(mayHaveOthers)}"#
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// A collection that is decoded from a JSON array.
private protocol ProbedList {
    static var empty: Self { get }
    static func element(level: Int) -> DerivedSchema
}

extension Array: ProbedList where Element: Decodable {
    static var empty: Self { [] }
    static func element(level: Int) -> DerivedSchema {
        DerivedSchema.probe(Element.self, level: level).schema
    }
}

extension Set: ProbedList where Element: Decodable {
    static var empty: Self { [] }
    static func element(level: Int) -> DerivedSchema {
        DerivedSchema.probe(Element.self, level: level).schema
    }
}

/// A collection that is decoded from a JSON object with arbitrary keys.
private protocol ProbedMap {
    static var empty: Self { get }
    static func element(level: Int) -> DerivedSchema
}

extension Dictionary: ProbedMap where Key == String, Value: Decodable {
    static var empty: Self { [:] }
    static func element(level: Int) -> DerivedSchema {
        DerivedSchema.probe(Value.self, level: level).schema
    }
}

/// Records what a type decodes.
private final class ProbeNotes {
    let level: Int
    private(set) var schema = DerivedSchema.any

    init(level: Int) { self.level = level }

    /// Records a decoded key; only the first time.
    func note(_ name: String, _ schema: DerivedSchema, isNeeded: Bool) {
        var members: [DerivedSchema.Member] = []
        if case .object(let known, _) = self.schema { members = known }
        guard !members.contains(where: { $0.name == name }) else { return }
        members.append(.init(name: name, schema: schema, isNeeded: isNeeded))
        self.schema = .object(members, mayHaveOthers: false)
    }

    /// Records that the type is decoded from an object.
    func begin() {
        if case .any = schema { schema = .object([], mayHaveOthers: false) }
    }

    /// Records that the type is decoded from a single value.
    func note(_ schema: DerivedSchema) { self.schema = schema }

    /// There is no placeholder.
    struct Unknown: Error {}

    /// Returns a placeholder of a type, and records its schema.
    func value<Value: Decodable>(
        _ type: Value.Type, _ note: (DerivedSchema) -> Void
    ) throws -> Value {
        let (schema, value) = DerivedSchema.probe(type, level: level + 1)
        note(schema)
        guard let value else { throw Unknown() }
        return value
    }
}

/// A decoder that returns placeholders.
private struct ProbeDecoder: Decoder {
    let notes: ProbeNotes
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        notes.begin()
        return KeyedDecodingContainer(Keyed<Key>(notes: notes))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw ProbeNotes.Unknown() }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(notes: notes) }

    private struct Single: SingleValueDecodingContainer {
        let notes: ProbeNotes
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try notes.value(type) { notes.note($0) }
        }
    }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let notes: ProbeNotes
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool { true }

        func decodeNil(forKey key: Key) -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try notes.value(type) { notes.note(key.stringValue, $0, isNeeded: true) }
        }

        func decodeIfPresent<Value: Decodable>(
            _ type: Value.Type, forKey key: Key
        ) throws -> Value? {
            let schema = DerivedSchema.probe(type, level: notes.level + 1).schema
            notes.note(key.stringValue, schema, isNeeded: false)
            return nil
        }

        // Synthesized `init(from:)` calls these overloads, not the generic one.
        func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try ask(key) }
        func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
            try ask(key)
        }
        func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
            try ask(key)
        }
        func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try ask(key) }
        func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try ask(key) }
        func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try ask(key) }
        func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try ask(key) }
        func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try ask(key) }
        func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try ask(key) }
        func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try ask(key) }
        func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try ask(key) }
        func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
            try ask(key)
        }
        func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
            try ask(key)
        }
        func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
            try ask(key)
        }

        private func ask<Value: Decodable>(_ key: Key) throws -> Value? {
            let schema = DerivedSchema.probe(Value.self, level: notes.level + 1).schema
            notes.note(key.stringValue, schema, isNeeded: false)
            return nil
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw ProbeNotes.Unknown() }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            throw ProbeNotes.Unknown()
        }

        func superDecoder() throws -> any Decoder { throw ProbeNotes.Unknown() }

        func superDecoder(forKey key: Key) throws -> any Decoder { throw ProbeNotes.Unknown() }
    }
}

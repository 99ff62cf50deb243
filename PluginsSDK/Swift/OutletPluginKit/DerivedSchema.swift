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
    /// An object; it may have others if decoding it failed at one of the members, or if it is
    /// decoded with whatever keys it has.
    case object([Member], mayHaveOthers: Bool)
    /// The schema of a type that contains this one, by its place in the whole schema.
    case enclosing(String)
    /// `null`, or a value of another schema, which is not nullable itself.
    case nullable(DerivedSchema)

    struct Member {
        let name: String
        var schema: DerivedSchema
        let isNeeded: Bool
    }

    /// Where a type is in the settings.
    struct Place {
        /// The maximum nesting of types; limits generic types that contain ever longer ones.
        private static let mostLevels = 16

        /// The place of its schema in the whole schema, as the fragment of a URI.
        private(set) var fragment = "#"
        private var level = 0
        private var enclosing: [ObjectIdentifier: String] = [:]

        /// Whether types at this place are not looked at.
        var isTooDeep: Bool { level >= Self.mostLevels }

        /// The place of a part of the schema here, given by a keyword.
        func inside(_ keyword: String) -> Place {
            var place = self
            place.fragment += "/" + keyword
            return place
        }

        /// The place of a member of the object here.
        func member(_ name: String) -> Place {
            var token = ""
            for byte in name.utf8 {
                switch byte {
                case UInt8(ascii: "~"): token += "~0"
                case UInt8(ascii: "/"): token += "~1"
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    token.unicodeScalars.append(Unicode.Scalar(byte))
                default: token += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
                }
            }
            return inside("properties/" + token)
        }

        /// This place, for the parts of a type.
        func entering(_ type: any Any.Type) -> Place {
            var place = self
            place.level += 1
            place.enclosing[ObjectIdentifier(type)] = fragment
            return place
        }

        /// The place of a type that contains this place.
        func fragment(enclosing type: any Any.Type) -> String? { enclosing[ObjectIdentifier(type)] }
    }

    /// The schema of a type as JSON; empty unless the type is decoded from an object.
    static func text<Value: Decodable>(of type: Value.Type) -> String {
        let schema = probe(type, at: Place()).schema
        if case .object = schema { return schema.json }
        if case .map = schema { return schema.json }
        return ""
    }

    /// Decodes a type from placeholders.
    ///
    /// - Returns: The schema, and the decoded value; `nil` if decoding failed.
    static func probe<Value: Decodable>(
        _ type: Value.Type, at place: Place
    ) -> (schema: DerivedSchema, value: Value?) {
        guard !place.isTooDeep else { return (.any, nil) }
        if let known = known(type) { return known }
        if let optional = type as? any ProbedOptional.Type {
            return (optional.wrapped(at: place).orNull, optional.empty as? Value)
        }
        if let list = type as? any ProbedList.Type {
            return (.list(list.element(at: place.inside("items"))), list.empty as? Value)
        }
        if let map = type as? any ProbedMap.Type, map.isObject {
            return (
                .map(map.element(at: place.inside("additionalProperties"))), map.empty as? Value
            )
        }
        if let choice = type as? any (CaseIterable & RawRepresentable).Type,
            let (values, first) = choices(choice), let value = first as? Value
        {
            return (.choice(values), value)
        }
        if let fragment = place.fragment(enclosing: type) {
            // A type that contains itself at the same place cannot be decoded at all.
            return (fragment == place.fragment ? .any : .enclosing(fragment), nil)
        }
        let notes = ProbeNotes(place: place.entering(type))
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

    /// The schema that also allows `null`.
    fileprivate var orNull: DerivedSchema {
        switch self {
        case .any, .nullable: self
        default: .nullable(self)
        }
    }

    /// The schema as JSON.
    var json: String { json(isNullable: false) }

    private func json(isNullable: Bool) -> String {
        func type(_ kind: String) -> String {
            isNullable ? #""type":["\#(kind)","null"]"# : #""type":"\#(kind)""#
        }
        switch self {
        case .any: return "{}"
        case .plain(let kind, let least, let most):
            let bounds = [least.map { #","minimum":\#($0)"# }, most.map { #","maximum":\#($0)"# }]
            return "{\(type(kind))\(bounds.compactMap(\.self).joined())}"
        case .choice(let values):
            let all = isNullable ? values + ["null"] : values
            return #"{"enum":[\#(all.joined(separator: ","))]}"#
        case .list(let element): return #"{\#(type("array")),"items":\#(element.json)}"#
        case .map(let element):
            return #"{\#(type("object")),"additionalProperties":\#(element.json)}"#
        case .object(let members, let mayHaveOthers):
            let properties = members.map { "\(Self.quoted($0.name)):\($0.schema.json)" }
            let needed = members.filter(\.isNeeded).map { Self.quoted($0.name) }
            return #"{\#(type("object")),"properties":{\#(properties.joined(separator: ","))},"#
                + (needed.isEmpty ? "" : #""required":[\#(needed.joined(separator: ","))],"#)
                + #""additionalProperties":\#(mayHaveOthers)}"#
        case .enclosing(let fragment):
            let reference = #"{"$ref":\#(Self.quoted(fragment))}"#
            return isNullable ? #"{"anyOf":[\#(reference),{"type":"null"}]}"# : reference
        case .nullable(let value): return value.json(isNullable: true)
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

/// A value or `null`, where it is not a property: there, a missing key is `nil`.
private protocol ProbedOptional {
    static var empty: Self { get }
    static func wrapped(at place: DerivedSchema.Place) -> DerivedSchema
}

extension Optional: ProbedOptional where Wrapped: Decodable {
    static var empty: Self { nil }
    static func wrapped(at place: DerivedSchema.Place) -> DerivedSchema {
        DerivedSchema.probe(Wrapped.self, at: place).schema
    }
}

/// A collection that is decoded from a JSON array.
private protocol ProbedList {
    static var empty: Self { get }
    static func element(at place: DerivedSchema.Place) -> DerivedSchema
}

extension Array: ProbedList where Element: Decodable {
    static var empty: Self { [] }
    static func element(at place: DerivedSchema.Place) -> DerivedSchema {
        DerivedSchema.probe(Element.self, at: place).schema
    }
}

extension Set: ProbedList where Element: Decodable {
    static var empty: Self { [] }
    static func element(at place: DerivedSchema.Place) -> DerivedSchema {
        DerivedSchema.probe(Element.self, at: place).schema
    }
}

/// A dictionary, which is decoded from a JSON object if its keys can be those of one.
private protocol ProbedMap {
    static var isObject: Bool { get }
    static var empty: Self { get }
    static func element(at place: DerivedSchema.Place) -> DerivedSchema
}

extension Dictionary: ProbedMap where Key: Decodable, Value: Decodable {
    static var isObject: Bool { Key.self is any CodingKeyRepresentable.Type }
    static var empty: Self { [:] }
    static func element(at place: DerivedSchema.Place) -> DerivedSchema {
        DerivedSchema.probe(Value.self, at: place).schema
    }
}

/// Records what a type decodes.
private final class ProbeNotes {
    let place: DerivedSchema.Place
    private(set) var schema = DerivedSchema.any
    /// The keys that the type has looked for before it decoded them.
    private var soughtKeys: Set<String> = []
    /// The keys of which the type has asked whether they are `null`.
    private var nullableKeys: Set<String> = []
    /// Whether the type has asked whether its single value is `null`.
    private var isNullable = false

    init(place: DerivedSchema.Place) { self.place = place }

    /// Records a decoded key; only the first time.
    func note(_ name: String, _ schema: DerivedSchema, isNeeded: Bool) {
        var (members, mayHaveOthers) = object
        guard !members.contains(where: { $0.name == name }) else { return }
        members.append(
            .init(
                name: name, schema: nullableKeys.contains(name) ? schema.orNull : schema,
                isNeeded: isNeeded && !soughtKeys.contains(name)))
        self.schema = .object(members, mayHaveOthers: mayHaveOthers)
    }

    /// Records that the type does without a key, because it looks whether that is there.
    func noteSearch(for name: String) { soughtKeys.insert(name) }

    /// Records that the type accepts `null` for a key, because it asks about that.
    func noteNull(for name: String) { nullableKeys.insert(name) }

    /// Records that the type accepts `null`, because it asks about that.
    func noteNull() { isNullable = true }

    /// Records that the type is decoded with whatever keys there are.
    func noteAllKeys() { schema = .object(object.members, mayHaveOthers: true) }

    /// Records that the type is decoded from an object.
    func begin() {
        if case .any = schema { schema = .object([], mayHaveOthers: false) }
    }

    private var object: (members: [DerivedSchema.Member], mayHaveOthers: Bool) {
        guard case .object(let members, let mayHaveOthers) = schema else { return ([], false) }
        return (members, mayHaveOthers)
    }

    /// Records that the type is decoded from a single value.
    func note(_ schema: DerivedSchema) { self.schema = isNullable ? schema.orNull : schema }

    /// There is no placeholder.
    struct Unknown: Error {}

    /// Returns a placeholder of a type, and records its schema.
    func value<Value: Decodable>(
        _ type: Value.Type, at place: DerivedSchema.Place, _ note: (DerivedSchema) -> Void
    ) throws -> Value {
        let (schema, value) = DerivedSchema.probe(type, at: place)
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

        func decodeNil() -> Bool {
            notes.noteNull()
            return false
        }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try notes.value(type, at: notes.place) { notes.note($0) }
        }
    }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let notes: ProbeNotes
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] {
            notes.noteAllKeys()
            return []
        }

        func contains(_ key: Key) -> Bool {
            notes.noteSearch(for: key.stringValue)
            return true
        }

        func decodeNil(forKey key: Key) -> Bool {
            notes.noteNull(for: key.stringValue)
            return false
        }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try notes.value(type, at: notes.place.member(key.stringValue)) {
                notes.note(key.stringValue, $0, isNeeded: true)
            }
        }

        func decodeIfPresent<Value: Decodable>(
            _ type: Value.Type, forKey key: Key
        ) throws -> Value? { try ask(key) }

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
            let place = notes.place.member(key.stringValue)
            notes.note(
                key.stringValue, DerivedSchema.probe(Value.self, at: place).schema,
                isNeeded: false)
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

extension JSONValue: Decodable {
    /// Decodes the value from any decoder.
    ///
    /// Numbers are decoded as `Int64`, `UInt64` or `Double`, so that their text is not kept.
    ///
    /// - Throws: `DecodingError` for a value that is none of the JSON types, or that is nested deeper
    ///   than 512 levels, and other errors of the decoder.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: MemberName.self) {
            try Self.checkDepth(decoder.codingPath)
            self = .object(
                JSONObject(
                    try container.allKeys.map {
                        ($0.stringValue, try container.decode(JSONValue.self, forKey: $0))
                    }))
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            try Self.checkDepth(decoder.codingPath)
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
            self = .array(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .int(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .number(JSONNumber(value))
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    /// How deep arrays and objects may be nested; a limit protects the stack.
    private static let maximumCodingDepth = 512

    /// Checks the depth of an array or object; called for no other value, because some decoders
    /// make the path each time that it is read.
    private static func checkDepth(_ path: [any CodingKey]) throws(DecodingError) {
        guard path.count >= maximumCodingDepth else { return }
        throw .dataCorrupted(
            DecodingError.Context(
                codingPath: path,
                debugDescription: "nested deeper than \(maximumCodingDepth) levels"))
    }
}

extension JSONValue: Encodable {
    /// Encodes the value with any encoder, which may change the order of members.
    ///
    /// A number that fits neither `Int64` nor `UInt64` is rounded to `Double`.
    ///
    /// - Throws: The errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let object):
            var container = encoder.container(keyedBy: MemberName.self)
            for member in object {
                try container.encode(member.value, forKey: MemberName(stringValue: member.name))
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        default:
            var container = encoder.singleValueContainer()
            try encodeScalar(to: &container)
        }
    }

    private func encodeScalar(to container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .bool(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .number(let number):
            if let value = number.intValue {
                try container.encode(value)
            } else if let value = UInt64(number.text) {
                try container.encode(value)
            } else {
                try container.encode(number.doubleValue)
            }
        case .null, .array, .object: try container.encodeNil()
        }
    }
}

private struct MemberName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

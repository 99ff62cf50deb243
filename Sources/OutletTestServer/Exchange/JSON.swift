internal import FoundationEssentials

/// A JSON value whose objects keep the order of their members, encoded without whitespace.
enum JSON: ExpressibleByDictionaryLiteral {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements)
    }

    /// Makes an object of fields; the value of a repeated name is an array, as in httpbin.
    init(fields: [(name: String, value: String)]) {
        self.init(grouping: fields, names: { $0 }) { values in
            values.count == 1 ? .string(values[0]) : .array(values.map(JSON.string))
        }
    }

    /// Makes an object of header fields; the values of a repeated name are joined with a comma.
    init(headers: [(name: String, value: String)]) {
        self.init(grouping: headers, names: { $0.lowercased() }) {
            .string($0.joined(separator: ","))
        }
    }

    private init(
        grouping fields: [(name: String, value: String)], names key: (String) -> String,
        value: ([String]) -> JSON
    ) {
        var positions: [String: Int] = [:]
        var groups: [(name: String, values: [String])] = []
        for field in fields {
            if let position = positions[key(field.name)] {
                groups[position].values.append(field.value)
            } else {
                positions[key(field.name)] = groups.count
                groups.append((field.name, [field.value]))
            }
        }
        self = .object(groups.map { ($0.name, value($0.values)) })
    }

    /// The JSON text in UTF-8.
    var encoded: [UInt8] {
        var text: [UInt8] = []
        write(to: &text)
        return text
    }

    private func write(to text: inout [UInt8]) {
        switch self {
        case .null: text += "null".utf8
        case .bool(let value): text += (value ? "true" : "false").utf8
        case .integer(let value): text += String(value).utf8
        case .number(let value): text += String(value).utf8
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                value.write(to: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .object(let members):
            text.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                Self.write(member.0, to: &text)
                text.append(UInt8(ascii: ":"))
                member.1.write(to: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                text.append(UInt8(ascii: "\\"))
                text.append(byte)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                text += "\\u00".utf8
                text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default:
                text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}

extension JSON: Decodable {
    /// Parses a JSON text in UTF-8; `nil` if it is not valid JSON.
    ///
    /// Objects are sorted by name, because the decoder does not keep their order.
    init?(text: [UInt8]) {
        guard let value = try? JSONDecoder().decode(JSON.self, from: Data(text)) else { return nil }
        self = value
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            let members = try container.decode([String: JSON].self)
            self = .object(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        }
    }
}

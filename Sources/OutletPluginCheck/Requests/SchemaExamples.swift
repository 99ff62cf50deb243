import OutletHTTP

/// Values that a JSON Schema probably allows.
///
/// They follow the keywords that most schemas consist of; what a pattern or a condition demands is not
/// made.
struct SchemaExamples {
    /// The schema of the whole value.
    let root: JSONValue

    /// The most levels of objects and lists in a value that is made.
    static let mostDepth = 6
    /// The most values in one that is made: a schema may refer to itself.
    private static let mostValues = 200
    /// The most elements of a list that is made, unless there must be more.
    private static let mostElements: Int64 = 8

    /// - Parameter text: A JSON Schema; may be empty.
    init(_ text: String) { root = (try? JSONValue(parsing: text)) ?? [:] }

    /// All members of an object that the whole schema allows, each with a value.
    var members: [JSONObject.Member] {
        properties(of: followed(root)).map { member in
            JSONObject.Member(name: member.name, value: value(of: member.value))
        }
    }

    /// The names of the members that the whole schema demands.
    var required: Set<String> { required(by: followed(root)) }

    /// The names of all members of an object that a schema allows.
    func names(of schema: JSONValue) -> [String] { properties(of: followed(schema)).map(\.name) }

    /// A value that a schema probably allows: the default, an example, a constant, an enumerated
    /// value, or a value of its type.
    func value(of schema: JSONValue) -> JSONValue {
        var left = Self.mostValues
        return value(of: schema, 0, depth: 1, &left)
    }

    /// The schema of a member of an object.
    func schema(of name: String, in schema: JSONValue) -> JSONValue {
        let schema = followed(schema)
        return properties(of: schema)[name] ?? schema["additionalProperties"] ?? [:]
    }

    /// The schema of the first element of a list.
    func element(of schema: JSONValue) -> JSONValue { element(of: followed(schema), 0) }

    /// Other values that a schema may allow: the smallest and the largest ones, objects with all and with
    /// few members.
    func others(for schema: JSONValue, than present: JSONValue?) -> [JSONValue] {
        let schema = followed(schema)
        var others: [JSONValue] = []
        switch present ?? value(of: schema) {
        case .array:
            let (least, most) = lengths(of: schema)
            for count in Set([least, least + 1, least + 2, min(most, Self.mostElements)]).sorted()
            where count <= most {
                var left = Self.mostValues
                others.append(list(of: schema, count: count, depth: 1, &left))
            }
        case .object(var object):
            var left = Self.mostValues
            let all = self.object(of: schema, depth: 1, &left)
            let required = required(by: schema)
            let least = (all.objectValue ?? JSONObject()).filter { required.contains($0.name) }
            others += [all, .object(JSONObject(least.map { ($0.name, $0.value) }))]
            object["x-outlet-check"] = "check"
            others.append(.object(object))
        case .string:
            if let most = schema["maxLength"]?.intValue, (1...Self.longestText).contains(most) {
                others.append(.string(String(repeating: "\u{20AC}", count: Int(most))))
            }
        case .number: others += ["minimum", "maximum"].compactMap { schema[$0] } + [0]
        default: break
        }
        others += schema["enum"]?.arrayValue ?? []
        return others.filter { $0 != present }
    }

    /// The most characters of a text that is as long as it may be.
    private static let longestText: Int64 = 20_000

    /// The schemas of the members that an object with a schema can have.
    private func properties(of schema: JSONValue) -> JSONObject {
        var properties = schema["properties"]?.objectValue ?? JSONObject()
        for part in schema["allOf"]?.arrayValue ?? [] {
            for member in followed(part)["properties"]?.objectValue ?? JSONObject()
            where properties[member.name] == nil {
                properties[member.name] = member.value
            }
        }
        return properties
    }

    private func required(by schema: JSONValue) -> Set<String> {
        Set((schema["required"]?.arrayValue ?? []).compactMap(\.stringValue))
    }

    /// The fewest and the most elements of a list with a schema.
    private func lengths(of schema: JSONValue) -> (least: Int64, most: Int64) {
        let least = min(max(0, schema["minItems"]?.intValue ?? 0), Int64(Self.mostValues))
        return (least, max(0, schema["maxItems"]?.intValue ?? .max))
    }

    /// - Parameters:
    ///   - schema: The schema.
    ///   - number: The position in a list, whose elements may have to differ.
    ///   - depth: The number of objects and lists that the value is in.
    ///   - left: The number of values that may still be made.
    private func value(
        of schema: JSONValue, _ number: Int, depth: Int, _ left: inout Int
    ) -> JSONValue {
        let schema = followed(schema)
        left -= 1
        if let value = schema["default"] ?? schema["const"], number == 0 { return value }
        for name in ["examples", "enum"] {
            let values = schema[name]?.arrayValue ?? []
            if !values.isEmpty { return values[number % values.count] }
        }
        switch type(of: schema) {
        case "string": return .string(text(of: schema, number))
        case "boolean": return .bool(number % 2 == 0)
        case "integer", "number":
            guard number > 0 else { return schema["minimum"] ?? 1 }
            return .int((schema["minimum"]?.intValue ?? 1) &+ Int64(number))
        case "array":
            let (least, most) = lengths(of: schema)
            guard depth < Self.mostDepth else { return [] }
            return list(of: schema, count: min(max(1, least), most), depth: depth, &left)
        case "object": return object(of: schema, depth: depth, &left)
        default: return nil
        }
    }

    private func text(of schema: JSONValue, _ number: Int) -> String {
        let text = number == 0 ? "check" : "check\(number)"
        let least = schema["minLength"]?.intValue ?? 0
        let most = schema["maxLength"]?.intValue ?? .max
        let missing = max(0, min(Int(clamping: least), Int(Self.longestText)) - text.utf8.count)
        let long = text + String(repeating: "x", count: missing)
        return String(long.prefix(bytes: max(0, Int(clamping: most))))
    }

    private func object(of schema: JSONValue, depth: Int, _ left: inout Int) -> JSONValue {
        var object = JSONObject()
        guard depth < Self.mostDepth else { return .object(object) }
        for member in properties(of: schema) where left > 0 {
            object[member.name] = value(of: member.value, 0, depth: depth + 1, &left)
        }
        // An object with names of the user's.
        if object.isEmpty, let other = schema["additionalProperties"], other.objectValue != nil {
            object["check"] = value(of: other, 0, depth: depth + 1, &left)
        }
        return .object(object)
    }

    /// A list with a number of elements.
    private func list(
        of schema: JSONValue, count: Int64, depth: Int, _ left: inout Int
    ) -> JSONValue {
        var elements: [JSONValue] = []
        while elements.count < count, left > 0 {
            let element = element(of: schema, elements.count)
            elements.append(value(of: element, elements.count, depth: depth + 1, &left))
        }
        return .array(elements)
    }

    /// The schema of an element of a list; that of texts if it may be anything.
    private func element(of schema: JSONValue, _ number: Int) -> JSONValue {
        let items = schema["items"]
        if let each = items?.arrayValue {
            return number < each.count ? each[number] : schema["additionalItems"] ?? [:]
        }
        guard let items, items.objectValue?.isEmpty == false else { return ["type": "string"] }
        return items
    }

    /// The type of the values of a schema; the first of several.
    private func type(of schema: JSONValue) -> String? {
        if let type = schema["type"]?.stringValue ?? schema["type"]?[0]?.stringValue { return type }
        if schema["properties"] != nil { return "object" }
        return schema["items"] == nil ? nil : "array"
    }

    /// A schema without references: that which it refers to, or its first alternative.
    private func followed(_ schema: JSONValue) -> JSONValue {
        var schema = schema
        for _ in 0..<Self.mostDepth {
            if let reference = schema["$ref"]?.stringValue, let target = target(of: reference) {
                schema = target
            } else if schema["type"] == nil, schema["properties"] == nil,
                let first = schema["anyOf"]?[0] ?? schema["oneOf"]?[0]
            {
                schema = first
            } else {
                break
            }
        }
        return schema
    }

    /// The part of the schema that a reference such as `#/definitions/name` names.
    private func target(of reference: String) -> JSONValue? {
        guard reference.startsWithBytes(of: "#") else { return nil }
        let tokens = reference.droppingBytes(1).utf8.split(separator: UInt8(ascii: "/"))
        return tokens.reduce(root as JSONValue?) { value, token in
            let name = String(decoding: token, as: UTF8.self)
            return Int(name).flatMap { value?[$0] } ?? value?[name]
        }
    }
}

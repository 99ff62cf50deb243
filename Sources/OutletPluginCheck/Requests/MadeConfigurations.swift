import OutletHTTP

/// Generates valid, invalid and unusual configurations for one plugin.
enum MadeConfigurations {
    /// Returns configurations as JSON objects, beginning with the empty one and a valid one.
    ///
    /// - Parameters:
    ///   - schema: The plugin's JSON Schema; may be empty.
    ///   - given: The user's configuration of the plugin, as a JSON object.
    static func all(schema: String, given: String) -> [String] {
        let given = (try? JSONValue(parsing: given))?.objectValue ?? JSONObject()
        let properties = (try? JSONValue(parsing: schema))?["properties"]?.objectValue
        var right = given
        for property in properties ?? JSONObject() where right[property.name] == nil {
            right[property.name] = value(of: property.value)
        }
        var made = [JSONObject(), right]
        let names = Array(right.map(\.name).prefix(mostNames))
        for name in names + ["x-outlet-check"] {
            for value in oddValues {
                var odd = right
                odd[name] = value
                made.append(odd)
            }
        }
        for name in names {
            var less = right
            less[name] = nil
            made.append(less)
        }
        var many = right
        for number in 0..<1000 { many["x-\(number)"] = .int(Int64(number)) }
        made.append(many)
        return made.map { JSONValue.object($0).text(.compact) }
    }

    /// Returns configurations that differ from the given one in a setting, and that the schema
    /// probably allows.
    ///
    /// - Parameters:
    ///   - schema: The plugin's JSON Schema; may be empty.
    ///   - given: The user's configuration of the plugin, as a JSON object.
    /// - Returns: The name of the setting and the JSON object of each.
    static func variants(schema: String, given: String) -> [(name: String, text: String)] {
        let given = (try? JSONValue(parsing: given))?.objectValue ?? JSONObject()
        let properties =
            (try? JSONValue(parsing: schema))?["properties"]?.objectValue ?? JSONObject()
        let names = properties.map(\.name) + given.map(\.name).filter { properties[$0] == nil }
        return names.prefix(mostNames).flatMap { name in
            otherValues(than: given[name], properties[name] ?? [:]).map { value in
                var other = given
                other[name] = value
                return (name, JSONValue.object(other).text(.compact))
            }
        }
    }

    /// Values of a setting that differ from its present one.
    private static func otherValues(than present: JSONValue?, _ schema: JSONValue) -> [JSONValue] {
        var values = schema["enum"]?.arrayValue ?? []
        if values.isEmpty {
            switch present ?? value(of: schema) {
            case .bool: values = [true, false]
            case .number(let number):
                values = number.intValue.map { [.int($0 &+ 1), .int($0 &- 1)] } ?? []
            case .string(let text):
                values = ["Check", "http://check.example/x"]
                if !mayNameFile(text) { values.insert(.string(text + "x"), at: 0) }
            default: break
            }
        }
        return Array(values.filter { $0 != present }.prefix(3))
    }

    /// Whether a text may name a file outside of the test's directory, so that one like it may name
    /// another file of the user, which a plugin could overwrite.
    private static func mayNameFile(_ text: String) -> Bool {
        text.containsBytes(of: "/") && !text.startsWithBytes(of: "http:")
            && !text.startsWithBytes(of: "https:")
    }

    /// The number of keys for which unusual values are tried.
    private static let mostNames = 8

    /// One value of each JSON type that few settings accept.
    ///
    /// None is the name of a file outside of the test's directory.
    private static let oddValues: [JSONValue] = [
        .null, true, -1, 9_223_372_036_854_775_807, 1e308, "", [], [:],
        .string(String(repeating: "\u{20AC}", count: 20_000)), "\u{0}\u{1B}[2J\u{202E}",
        (0..<100).reduce(JSONValue.array([])) { value, _ in ["a": [value]] },
    ]

    /// A value that the schema of one setting probably allows.
    ///
    /// Uses the default, a constant or the first enumerated value, else a value of the type.
    private static func value(of schema: JSONValue) -> JSONValue {
        if let value = schema["default"] ?? schema["const"] ?? schema["enum"]?[0] { return value }
        switch schema["type"]?.stringValue {
        case "string": return "check"
        case "boolean": return true
        case "integer", "number": return schema["minimum"] ?? 1
        case "array": return []
        case "object": return [:]
        default: return nil
        }
    }
}

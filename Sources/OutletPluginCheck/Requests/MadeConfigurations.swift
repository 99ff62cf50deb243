import OutletHTTP

/// Configurations of all kinds for one plugin: right, wrong and odd ones.
enum MadeConfigurations {
    /// JSON objects, an empty one first.
    ///
    /// - Parameters:
    ///   - schema: The plugin's JSON Schema; may be empty.
    ///   - given: What it is configured with otherwise, as a JSON object.
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

    private static let mostNames = 8

    /// Of each kind one that few settings take.
    private static let oddValues: [JSONValue] = [
        .null, true, -1, 9_223_372_036_854_775_807, 1e308, "", [], [:],
        .string(String(repeating: "\u{20AC}", count: 20_000)), "\u{0}\u{1B}[2J\u{202E}",
        (0..<100).reduce(JSONValue.array([])) { value, _ in ["a": [value]] },
    ]

    /// A value that a schema of one setting allows, as far as can be told at once.
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

import OutletHTTP

/// The keywords of a JSON Schema that have no effect, because drafts 4, 6 and 7 do not have them.
///
/// Those that begin with `x-` are left out: they are for other programs.
enum UnknownKeywords {
    /// Returns the JSON pointers of unknown keywords, each with the known one that may be meant.
    static func all(in schema: String) -> [String] {
        guard let root = try? JSONValue(parsing: schema) else { return [] }
        var found: [String] = []
        look(at: root, "", &found)
        return found
    }

    private static func look(at schema: JSONValue, _ path: String, _ found: inout [String]) {
        guard let members = schema.objectValue else { return }
        for member in members {
            let place = "\(path)/\(member.name)"
            if maps.contains(member.name) {
                for child in member.value.objectValue ?? JSONObject() {
                    look(at: child.value, "\(place)/\(child.name)", &found)
                }
            } else if schemas.contains(member.name) {
                look(at: member.value, place, &found)
                for (index, child) in (member.value.arrayValue ?? []).enumerated() {
                    look(at: child, "\(place)/\(index)", &found)
                }
            } else if !others.contains(member.name), !member.name.startsWithBytes(of: "x-") {
                let known = maps + schemas + others
                let nearest = Suggestion.nearest(to: member.name, among: known)
                found.append(place + (nearest.map { " (did you mean '\($0)'?)" } ?? ""))
            }
        }
    }

    /// The keywords whose value is an object of schemas.
    private static let maps = ["definitions", "dependencies", "patternProperties", "properties"]
    /// The keywords whose value is a schema or a list of schemas.
    private static let schemas = [
        "additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "else", "if",
        "items", "not", "oneOf", "propertyNames", "then",
    ]
    private static let others = [
        "$comment", "$id", "$ref", "$schema", "const", "contentEncoding", "contentMediaType",
        "default", "description", "enum", "examples", "exclusiveMaximum", "exclusiveMinimum",
        "format", "id", "maxItems", "maxLength", "maxProperties", "maximum", "minItems",
        "minLength", "minProperties", "minimum", "multipleOf", "pattern", "readOnly", "required",
        "title", "type", "uniqueItems", "writeOnly",
    ]
}

public import FoundationEssentials
public import OutletHTTP

extension Redaction {
    /// The text of a body with secrets replaced, as far as its kind is known.
    ///
    /// Members of JSON and parameters of forms are looked at by name; other text is kept.
    ///
    /// - Parameter contentType: The `Content-Type` field's value, if there is one.
    /// - Returns: `nil` when the bytes are not text in UTF-8.
    public func body(_ data: Data, contentType: String?) -> String? {
        guard let text = String(validating: data, as: UTF8.self), !text.utf8.contains(0) else {
            return nil
        }
        let type = contentType?.prefix { $0 != ";" }.lowercased() ?? ""
        if type.contains("x-www-form-urlencoded") { return parameters(text) }
        guard type.contains("json") || type.isEmpty, self != .none,
            let value = try? JSONValue(parsing: data)
        else { return text }
        let shown = json(value)
        return shown == value ? text : shown.text()
    }

    /// A JSON value, members with secret names replaced at every depth.
    public func json(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map { json($0) })
        case .object(let object):
            .object(
                JSONObject(
                    object.map { member in
                        let isSecret = hidesParameter(named: member.name) && !member.value.isNull
                        return (member.name, isSecret ? .string(mark) : json(member.value))
                    }))
        case .null, .bool, .number, .string: value
        }
    }
}

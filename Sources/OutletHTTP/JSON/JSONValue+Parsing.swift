public import FoundationEssentials

extension JSONValue {
    /// Parses a JSON text in UTF-8; ignores a byte order mark at its start.
    ///
    /// - Parameters:
    ///   - bytes: One JSON value (RFC 8259), which may have white space around it.
    ///   - maximumDepth: How deep arrays and objects may be nested; a limit protects the stack.
    /// - Throws: ``JSONSyntaxError`` if the text is not JSON or nested too deeply.
    public init(
        parsing bytes: some ContiguousBytes, maximumDepth: Int = 512
    ) throws(JSONSyntaxError) {
        let result = bytes.withUnsafeBytes { raw in
            raw.withMemoryRebound(to: UInt8.self) { text in
                Result { () throws(JSONSyntaxError) in
                    try JSONTokens(text, maximumDepth: maximumDepth).value(at: 0)
                }
            }
        }
        self = try result.get()
    }

    /// Parses a JSON text.
    ///
    /// - Parameters:
    ///   - text: One JSON value (RFC 8259), which may have white space around it.
    ///   - maximumDepth: How deep arrays and objects may be nested; a limit protects the stack.
    /// - Throws: ``JSONSyntaxError`` if the text is not JSON or nested too deeply.
    public init(parsing text: String, maximumDepth: Int = 512) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8), maximumDepth: maximumDepth)
    }
}

extension JSONTokens {
    /// Returns a value with all values inside.
    ///
    /// - Throws: ``JSONSyntaxError`` if a string is not UTF-8.
    func value(at position: Int) throws(JSONSyntaxError) -> JSONValue {
        let token = self[position]
        switch token.kind {
        case .null: return .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .integer, .fraction:
            return .number(
                JSONNumber(parsed: String(decoding: bytes(at: position), as: UTF8.self)))
        case .string: return .string(try string(at: position))
        case .array:
            var elements: [JSONValue] = []
            elements.reserveCapacity(Int(token.count))
            var element = position + 1
            while element < token.next {
                elements.append(try value(at: element))
                element = next(after: element)
            }
            return .array(elements)
        case .object:
            var members: [JSONObject.Member] = []
            members.reserveCapacity(Int(token.count))
            var name = position + 1
            while name < token.next {
                members.append(
                    JSONObject.Member(
                        name: try string(at: name), value: try value(at: name + 1)))
                name = next(after: name + 1)
            }
            return .object(JSONObject(parsed: members))
        }
    }
}

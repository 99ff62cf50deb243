public import FoundationEssentials

extension Redaction {
    /// Returns the text of a body with secrets replaced.
    ///
    /// Replaces the values of JSON members, form parameters and parts of multipart forms if
    /// ``hidesParameter(named:)`` is true for their names. Other text is kept. Bodies and parts in
    /// which these names cannot be found are replaced as a whole: those in UTF-16 or UTF-32, parts with a
    /// `Content-Transfer-Encoding`, and multipart bodies without their boundary.
    ///
    /// - Parameters:
    ///   - data: The body, with its content coding removed.
    ///   - contentType: The value of `Content-Type`. If it is `nil`, a body that does not begin
    ///     like JSON is treated as a form, unless it contains blanks or line breaks before its end.
    /// - Returns: `nil` if the bytes are not UTF-8 or contain NUL.
    public func body(_ data: Data, contentType: String?) -> String? {
        let shown = bodyBytes(data, contentType: contentType)
        guard !shown.contains(0) else { return nil }
        return String(validating: shown, as: UTF8.self)
    }

    /// As ``body(_:contentType:)``, for bytes that need not be text.
    package func bodyBytes(_ data: Data, contentType: String?) -> [UInt8] {
        guard !showsEverything else { return Array(data) }
        return body(Array(data)[...], type: Array((contentType ?? "").utf8)[...], 0)
    }

    /// Returns the bytes of a request's body with secrets replaced.
    ///
    /// - Returns: `nil` if the body has a content coding, so that it cannot be searched.
    package func requestBody(_ data: Data, of headers: HTTPHeaders) -> Data? {
        let coding = headers["Content-Encoding"] ?? "identity"
        guard showsEverything || coding.equalsIgnoringCase("identity") else { return nil }
        return Data(bodyBytes(data, contentType: headers["Content-Type"]))
    }

    /// Returns a JSON value with the values of secret members replaced, at every depth.
    ///
    /// - Parameter value: The value; secrets inside of its strings, such as in URLs, are replaced
    ///   as well.
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
        case .string(let text):
            .string(String(decoding: jsonString(Array(text.utf8), 0), as: UTF8.self))
        case .null, .bool, .number: value
        }
    }

    private func body(
        _ bytes: ArraySlice<UInt8>, type: ArraySlice<UInt8>, _ depth: Int
    ) -> [UInt8] {
        let name = String(
            decoding: trimmed(type.prefix { $0 != UInt8(ascii: ";") }).map(\.lowercased),
            as: UTF8.self)
        if isWide(bytes, name, type) { return Array(mark.utf8) }
        if name.utf8.starts(with: "multipart/".utf8), depth < 4 {
            return multipart(bytes, type, depth)
        }
        if name == "application/x-www-form-urlencoded" { return parameters(bytes, 0) }
        // Whatever its type, a body that begins like JSON is redacted as JSON: servers often send
        // it as plain text or without a type.
        let isJSON =
            name.utf8.firstRange(of: "json".utf8) != nil || name == "text/event-stream"
            || beginsLikeJSON(bytes)
        if isJSON { return json(bytes, 0) }
        // Files and programs that write lines end a form with a line break.
        let lineEnd = bytes.reversed().prefix { $0 == 0x0A || $0 == 0x0D }.reversed()
        let form = bytes.dropLast(lineEnd.count)
        guard name.isEmpty, form.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return Array(bytes)
        }
        return parameters(form, 0) + lineEnd
    }

    // MARK: UTF-16 and UTF-32

    /// Whether a body that may contain secrets is in UTF-16 or UTF-32.
    ///
    /// - Parameters:
    ///   - name: The media type, in lower case.
    ///   - type: The value of `Content-Type`.
    private func isWide(
        _ bytes: ArraySlice<UInt8>, _ name: String, _ type: ArraySlice<UInt8>
    ) -> Bool {
        if let charset = fieldParameter("charset", of: type)?.map(\.lowercased) {
            let names = ["utf-16", "utf16", "utf-32", "utf32", "ucs-", "iso-10646-ucs-"]
            if names.contains(where: { charset.starts(with: $0.utf8) }) { return true }
        }
        let hasNames =
            name.utf8.firstRange(of: "json".utf8) != nil
            || ["text/event-stream", "application/x-www-form-urlencoded"].contains(name)
        if hasNames, bytes.contains(0) { return true }
        guard beginsWide(bytes) else { return false }
        let narrow = bytes.prefix(1024).filter { $0 != 0 && $0 < 0xFE }[...]
        return hasNames || beginsLikeJSON(narrow)
            || name.isEmpty && narrow.first.map { $0 > 0x20 && $0 < 0x7F } == true
    }

    /// Whether bytes begin with the mark (BOM) or a character of ASCII in UTF-16 or UTF-32.
    private func beginsWide(_ bytes: ArraySlice<UInt8>) -> Bool {
        let start = Array(bytes.prefix(4))
        guard start.count > 1 else { return false }
        if start[0] ^ start[1] == 1, min(start[0], start[1]) == 0xFE { return true }
        if start == [0, 0, 0xFE, 0xFF] { return true }
        return [
            [false, true], [true, false], [false, true, true, true], [true, true, true, false],
        ]
        .contains { zeros in
            start.indices.allSatisfy { (start[$0] == 0) == zeros[$0 % zeros.count] }
        }
    }

    // MARK: JSON

    /// Redacts a text that is a JSON object or array; `nil` if it is none.
    ///
    /// - Parameters:
    ///   - text: The text, which is part of another one.
    ///   - depth: How many texts and URLs contain it.
    func jsonInside(_ text: ArraySlice<UInt8>, _ depth: Int) -> [UInt8]? {
        guard beginsLikeJSON(text), (try? JSONValue(parsing: Data(text))) != nil else { return nil }
        return json(text, depth)
    }

    /// Whether a text begins with an object or an array, also behind a byte order mark.
    private func beginsLikeJSON(_ text: ArraySlice<UInt8>) -> Bool {
        let isMarked = text.starts(with: [0xEF, 0xBB, 0xBF])
        let first = text.dropFirst(isMarked ? 3 : 0).first { !isJSONSpace($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Redacts JSON text and keeps its layout; it may be cut off or contain several values.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - depth: How many texts and URLs contain this one.
    private func json(_ bytes: ArraySlice<UInt8>, _ depth: Int) -> [UInt8] {
        guard depth < Self.maximumDepth else { return Array(mark.utf8) }
        var shown: [UInt8] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            guard bytes[index] == UInt8(ascii: "\"") else {
                shown.append(bytes[index])
                index += 1
                continue
            }
            let end = quotedEnd(bytes[index...])
            let text = unescaped(bytes[index..<end])
            let colon = bytes[end...].drop(while: isJSONSpace)
            guard colon.first == UInt8(ascii: ":") else {
                let string = jsonString(text, depth)
                shown += string == text ? Array(bytes[index..<end]) : quoted(string)
                index = end
                continue
            }
            let value = colon.dropFirst().drop(while: isJSONSpace)
            shown += bytes[index..<value.startIndex]
            index = value.startIndex
            if hidesParameter(text[...]), !value.starts(with: Array("null".utf8)), !value.isEmpty {
                shown += quoted(Array(mark.utf8))
                index = jsonValueEnd(value)
            }
        }
        return shown
    }

    private func isJSONSpace(_ byte: UInt8) -> Bool {
        byte.isBlank || byte == 0x0A || byte == 0x0D
    }

    /// Returns the index after the JSON value that a text begins with; `endIndex` if it is cut off.
    private func jsonValueEnd(_ text: ArraySlice<UInt8>) -> Int {
        var index = text.startIndex
        var level = 0
        while index < text.endIndex {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "\""): index = quotedEnd(text[index...])
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                level += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard level > 0 else { return index }
                level -= 1
                index += 1
            case _ where level == 0 && (byte == UInt8(ascii: ",") || isJSONSpace(byte)):
                return index
            default: index += 1
            }
            // A number or literal ends at a delimiter, which the next round finds. A string, array
            // or object has ended with this byte.
            let wasScalar = ![UInt8(ascii: "\""), UInt8(ascii: "}"), UInt8(ascii: "]")].contains(
                byte)
            if level == 0, !wasScalar { return index }
        }
        return index
    }

    /// Returns the content of a JSON string; if it is JSON or contains a URL, with its secrets
    /// replaced.
    private func jsonString(_ text: [UInt8], _ depth: Int) -> [UInt8] {
        if let shown = jsonInside(text[...], depth + 1) { return shown }
        let isAddress =
            text.first == UInt8(ascii: "/") || text.first == UInt8(ascii: "?")
            || text[...].firstRange(of: Array("://".utf8)) != nil
        guard isAddress else { return text }
        return self.text(text[...], depth + 1)
    }

    /// Returns the content of a JSON string in quotes, with escapes decoded.
    private func unescaped(_ string: ArraySlice<UInt8>) -> [UInt8] {
        let content = string.dropFirst()
        guard content.contains(UInt8(ascii: "\\")) else {
            return Array(content.last == UInt8(ascii: "\"") ? content.dropLast() : content)
        }
        guard case .string(let text)? = try? JSONValue(parsing: Data(string)) else {
            return Array(content)
        }
        return Array(text.utf8)
    }

    private func quoted(_ text: [UInt8]) -> [UInt8] {
        Array(JSONValue.string(String(decoding: text, as: UTF8.self)).serialized())
    }

    // MARK: Multipart forms

    /// Redacts a multipart body: replaces parts with secret names, and redacts other parts by type.
    private func multipart(
        _ bytes: ArraySlice<UInt8>, _ type: ArraySlice<UInt8>, _ depth: Int
    ) -> [UInt8] {
        let dashes = Array("--".utf8)
        // Without the parameter, the boundary is taken from the first line of the body.
        guard
            let boundary = fieldParameter("boundary", of: type)
                ?? (bytes.starts(with: dashes)
                    ? Array(bytes.dropFirst(2).prefix { $0 > 0x20 }) : nil),
            !boundary.isEmpty, bytes.isEmpty || bytes.firstRange(of: dashes + boundary) != nil
        else { return bytes.isEmpty ? [] : Array(mark.utf8) }
        let delimiter = dashes + boundary
        var shown: [UInt8] = []
        var rest = bytes
        while let next = rest.firstRange(of: delimiter) {
            shown += part(rest[..<next.lowerBound], depth) + delimiter
            rest = rest[next.upperBound...]
        }
        return shown + part(rest, depth)
    }

    /// Redacts the text between two delimiters: the end of a line, a head, an empty line, a body.
    private func part(_ bytes: ArraySlice<UInt8>, _ depth: Int) -> [UInt8] {
        let empty = ["\r\n\r\n", "\n\n"].compactMap { bytes.firstRange(of: Array($0.utf8)) }
            .min { $0.lowerBound < $1.lowerBound }
        guard let empty else { return Array(bytes) }
        let head = bytes[..<empty.lowerBound]
        var body = bytes[empty.upperBound...]
        // The line break before a delimiter belongs to the delimiter.
        var end: [UInt8] = []
        for byte: UInt8 in [0x0A, 0x0D] where body.last == byte {
            end.insert(byte, at: 0)
            body.removeLast()
        }
        var type: ArraySlice<UInt8> = Array("text/plain".utf8)[...]
        var isSecret = false
        for field in fields(head) {
            guard let colon = field.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = String(
                decoding: trimmed(field[..<colon]).map(\.lowercased), as: UTF8.self)
            let value = field[(colon + 1)...].filter { $0 != 0x0D && $0 != 0x0A }[...]
            if name == "content-type" { type = trimmed(value) }
            // The names in a part that is coded, such as in base64, cannot be found.
            if name == "content-transfer-encoding" {
                let coding = String(decoding: trimmed(value).map(\.lowercased), as: UTF8.self)
                isSecret = isSecret || !["7bit", "8bit", "binary"].contains(coding)
            }
            if name == "content-disposition" {
                let names = ["name", "name*"].compactMap { fieldParameter($0, of: value) }
                isSecret = isSecret || names.contains { hidesParameter($0[...]) }
            }
        }
        return bytes[..<empty.upperBound]
            + (isSecret ? Array(mark.utf8) : self.body(body, type: type, depth + 1)) + end
    }

    /// Returns the fields of a part's head; a line that begins with a blank continues the previous
    /// one.
    private func fields(_ head: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var fields: [ArraySlice<UInt8>] = []
        for line in head.split(separator: 0x0A) {
            if let last = fields.last, let first = line.first, first.isBlank {
                fields[fields.count - 1] = head[last.startIndex..<line.endIndex]
            } else {
                fields.append(line)
            }
        }
        return fields
    }

    /// Returns a parameter of a field's value, such as `value; name=token; name="quoted"`.
    private func fieldParameter(_ wanted: String, of value: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = value
        while !rest.isEmpty {
            var end = rest.startIndex
            while end < rest.endIndex, rest[end] != UInt8(ascii: ";") {
                end = rest[end] == UInt8(ascii: "\"") ? quotedEnd(rest[end...]) : end + 1
            }
            let piece = rest[..<end]
            rest = rest[end...].dropFirst()
            guard let equals = piece.firstIndex(of: UInt8(ascii: "=")),
                trimmed(piece[..<equals]).map(\.lowercased).elementsEqual(wanted.utf8)
            else { continue }
            let text = trimmed(piece[(equals + 1)...])
            guard text.first == UInt8(ascii: "\"") else { return Array(text) }
            return unquoted(text)
        }
        return nil
    }

    private func unquoted(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var content = text.dropFirst()
        if content.last == UInt8(ascii: "\"") { content.removeLast() }
        var plain: [UInt8] = []
        while let byte = content.popFirst() {
            plain.append(byte == UInt8(ascii: "\\") ? content.popFirst() ?? byte : byte)
        }
        return plain
    }
}

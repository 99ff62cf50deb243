extension Redaction {
    /// Returns a field's value with its secrets replaced.
    ///
    /// Keeps the scheme of a credential, the names and attributes of cookies, the parameters of a
    /// challenge except nonces, and the parts of URLs that are not secrets.
    ///
    /// - Parameter header: The field; its name decides how the value is treated.
    public func value(of header: HTTPHeader) -> String {
        guard !showsEverything else { return header.value }
        let shown = value(Array(header.value.utf8)[...], named: Array(header.name.utf8)[...])
        return String(decoding: shown, as: UTF8.self)
    }

    /// Returns the fields with secrets replaced, in the same order, repeated ones included.
    ///
    /// - Parameter headers: The fields of a request or response.
    public func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
        guard !showsEverything else { return headers }
        var shown = HTTPHeaders()
        for header in headers { shown.append(name: header.name, value: value(of: header)) }
        return shown
    }

    func value(_ value: ArraySlice<UInt8>, named name: ArraySlice<UInt8>) -> [UInt8] {
        let lowercase = String(decoding: name.map(\.lowercased), as: UTF8.self)
        guard hidesHeader(name) else {
            switch lowercase {
            case "location", "content-location", "referer", "destination": return address(value, 0)
            case "www-authenticate", "proxy-authenticate", "authentication-info",
                "proxy-authentication-info":
                return challenges(value)
            default: return jsonInside(value, 0) ?? text(value)
            }
        }
        switch lowercase {
        case "authorization", "proxy-authorization": return credential(value)
        case "cookie": return cookies(value)
        case "set-cookie": return setCookie(value)
        default: return Array(mark.utf8)
        }
    }

    /// Returns the scheme, which is a token followed by a blank, and the mark; without a scheme
    /// only the mark.
    private func credential(_ value: ArraySlice<UInt8>) -> [UInt8] {
        let value = trimmed(value)
        let scheme = value.prefix(while: \.isToken)
        let rest = value[scheme.endIndex...]
        guard !scheme.isEmpty, let next = rest.first, next.isBlank else { return Array(mark.utf8) }
        return Array(scheme) + [0x20] + Array(mark.utf8)
    }

    private func cookies(_ value: ArraySlice<UInt8>) -> [UInt8] {
        Array(
            value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                .map { cookie($0) }.joined(separator: [UInt8(ascii: ";")]))
    }

    private func cookie(_ pair: ArraySlice<UInt8>) -> [UInt8] {
        guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else {
            return pair.isEmpty ? [] : Array(mark.utf8)
        }
        return Array(pair[...equals]) + Array(mark.utf8)
    }

    /// The known attributes of a cookie (RFC 6265 §4.1); any other text after `;` is replaced,
    /// because it may belong to the value.
    private static let attributes: Set<String> = [
        "expires", "max-age", "domain", "path", "secure", "httponly", "samesite", "priority",
        "partitioned",
    ]

    private func setCookie(_ value: ArraySlice<UInt8>) -> [UInt8] {
        var pieces = value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[
            ...]
        var shown = cookie(pieces.popFirst() ?? [])
        for piece in pieces {
            shown.append(UInt8(ascii: ";"))
            let parts = piece.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
            let name = String(decoding: trimmed(parts[0]).map(\.lowercased), as: UTF8.self)
            let isPlain = name.isEmpty || Self.attributes.contains(name)
            shown += isPlain && parts.count <= 2 ? Array(piece) : Array(mark.utf8)
        }
        return shown
    }

    /// The parameters of challenges that help to guess a password or to forge an answer.
    private static let challengeSecrets: Set<String> = [
        "nonce", "nextnonce", "cnonce", "opaque", "response", "rspauth",
    ]

    /// Returns challenges with nonces replaced, and tokens that a scheme has instead of parameters.
    private func challenges(_ value: ArraySlice<UInt8>) -> [UInt8] {
        var shown: [UInt8] = []
        var rest = value
        while !rest.isEmpty {
            let piece = challengePiece(rest)
            rest = rest[piece.endIndex...]
            shown += challengeParameter(piece)
            if let comma = rest.popFirst() { shown.append(comma) }
        }
        return shown
    }

    /// Returns the text up to the next comma outside of quotes.
    private func challengePiece(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var index = text.startIndex
        while index < text.endIndex, text[index] != UInt8(ascii: ",") {
            index = text[index] == UInt8(ascii: "\"") ? quotedEnd(text[index...]) : index + 1
        }
        return text[..<index]
    }

    /// Redacts `name=value`, `Scheme name=value`, `Scheme` or `Scheme token68`.
    private func challengeParameter(_ piece: ArraySlice<UInt8>) -> [UInt8] {
        let trimmed = trimmed(piece)
        let lead = piece[..<trimmed.startIndex]
        var scheme = trimmed.prefix(while: \.isToken)
        var rest = trimmed[scheme.endIndex...]
        if let next = rest.first, next.isBlank {
            let blanks = rest.prefix(while: \.isBlank)
            rest = rest[blanks.endIndex...]
            if rest.first != UInt8(ascii: "=") {
                scheme = trimmed[..<rest.startIndex]
            } else {
                rest = trimmed
                scheme = []
            }
        } else {
            rest = trimmed
            scheme = []
        }
        let name = rest.prefix(while: \.isToken)
        let equals = rest[name.endIndex...].drop(while: \.isBlank)
        let value = equals.dropFirst().drop(while: \.isBlank)
        guard equals.first == UInt8(ascii: "="), let first = value.first,
            first != UInt8(ascii: "=")
        else {
            // A scheme alone is kept; a token68 after a scheme is replaced.
            let isAlone = scheme.isEmpty && rest.allSatisfy(\.isToken)
            return Array(lead) + Array(scheme) + (isAlone ? Array(rest) : Array(mark.utf8))
        }
        let text = String(decoding: name.map(\.lowercased), as: UTF8.self)
        let head = Array(lead) + Array(scheme) + Array(rest[..<value.startIndex])
        guard !Self.challengeSecrets.contains(text), !hidesParameter(name) else {
            return head + Array(mark.utf8)
        }
        return head + self.text(value)
    }
}

/// Returns a text without the blanks at its ends.
func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text.drop(while: \.isBlank)
    while let last = text.last, last.isBlank { text.removeLast() }
    return text
}

/// Returns the index after the quoted string that a text begins with; `endIndex` if the closing
/// quotation mark is missing.
func quotedEnd(_ text: ArraySlice<UInt8>) -> Int {
    var index = text.startIndex + 1
    while index < text.endIndex {
        switch text[index] {
        case UInt8(ascii: "\""): return index + 1
        case UInt8(ascii: "\\"): index = min(index + 2, text.endIndex)
        default: index += 1
        }
    }
    return index
}

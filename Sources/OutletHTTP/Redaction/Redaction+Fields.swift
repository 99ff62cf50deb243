extension Redaction {
    /// What may be shown of a field's value: of a credential its scheme, of cookies their names, of
    /// a challenge all but nonces, of addresses all but their secrets.
    public func value(of header: HTTPHeader) -> String {
        guard !showsEverything else { return header.value }
        let shown = value(Array(header.value.utf8)[...], named: Array(header.name.utf8)[...])
        return String(decoding: shown, as: UTF8.self)
    }

    /// The fields with secrets replaced, order and repeats kept.
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
            default: return text(value)
            }
        }
        switch lowercase {
        case "authorization", "proxy-authorization": return credential(value)
        case "cookie": return cookies(value)
        case "set-cookie": return setCookie(value)
        default: return Array(mark.utf8)
        }
    }

    /// The scheme, if there is one: a token and something behind it.
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

    /// The attributes of a cookie (RFC 6265 §4.1); another one may be a part of the value.
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

    /// Parameters of challenges that let others guess a password, or answer in its owner's name.
    private static let challengeSecrets: Set<String> = [
        "nonce", "nextnonce", "cnonce", "opaque", "response", "rspauth",
    ]

    /// Challenges without nonces, and without what a scheme has in place of parameters.
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

    /// Up to the next comma that is not in quotes.
    private func challengePiece(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var index = text.startIndex
        while index < text.endIndex, text[index] != UInt8(ascii: ",") {
            index = text[index] == UInt8(ascii: "\"") ? quotedEnd(text[index...]) : index + 1
        }
        return text[..<index]
    }

    /// `name=value`, `Scheme name=value`, `Scheme` or `Scheme token68`.
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
            // A scheme alone, or one with a token.
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

/// A text without the blanks around it.
func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text.drop(while: \.isBlank)
    while let last = text.last, last.isBlank { text.removeLast() }
    return text
}

/// The index behind the quoted string that a text begins with; its end when the string has none.
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

public import FoundationEssentials

extension Redaction {
    /// How many addresses within addresses are looked into; what lies deeper is hidden.
    private static let maximumDepth = 8

    /// An address without name, password and the values of secret parameters.
    ///
    /// Parameters are those of the query, of the fragment and of path segments; addresses within
    /// them are looked into, and hidden as a whole where they are encoded and hold a secret.
    public func url(_ url: URL) -> String { address(url.absoluteString) }

    /// As ``url(_:)``, for a text that may be no valid address.
    public func address(_ text: String) -> String {
        guard !showsEverything else { return text }
        return String(decoding: address(Array(text.utf8)[...], 0), as: UTF8.self)
    }

    /// Parameters as in a query or a form, the values of secret ones replaced.
    public func parameters(_ text: some StringProtocol) -> String {
        guard !showsEverything else { return String(text) }
        return String(decoding: parameters(Array(text.utf8)[...], 0), as: UTF8.self)
    }

    func address(_ text: ArraySlice<UInt8>, _ depth: Int) -> [UInt8] {
        guard depth < Self.maximumDepth else { return Array(mark.utf8) }
        var authority: Int?
        if text.starts(with: Self.slashes) { authority = text.startIndex + 2 }
        if let scheme = scheme(text), authority == nil {
            guard scheme.lowerBound == text.startIndex else {
                return inner(text[..<scheme.lowerBound], text[scheme.lowerBound...], depth)
            }
            authority = scheme.upperBound
        }
        let start = authority ?? text.startIndex
        var shown = Array(text[..<start])
        var rest = text[start...]
        // 'http:///user:password@host/' has no host, and is meant to have one.
        if authority != nil, !text.prefix(5).map(\.lowercased).elementsEqual("file:".utf8) {
            let slashes = rest.prefix { $0 == UInt8(ascii: "/") }
            shown += slashes
            rest = rest[slashes.endIndex...]
        }
        if let end = userInfoEnd(rest, isAuthority: authority != nil) {
            shown += hidesUserInfo ? Array(mark.utf8) : Array(rest[..<end])
            rest = rest[end...]
        }
        let path = rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        if let scheme = scheme(path) {
            return shown + inner(rest[..<scheme.lowerBound], rest[scheme.lowerBound...], depth)
        }
        let isPath = authority != nil || text.first == UInt8(ascii: "/")
        shown += isPath ? segments(path, depth) : parameters(path, depth)
        rest = rest[path.endIndex...]
        if rest.first == UInt8(ascii: "?") {
            let query = rest.dropFirst().prefix { $0 != UInt8(ascii: "#") }
            shown += [UInt8(ascii: "?")] + parameters(query, depth)
            rest = rest[query.endIndex...]
        }
        // A fragment may have a path and a query of its own.
        let parts = rest.split(separator: UInt8(ascii: "?"), omittingEmptySubsequences: false)
        return shown
            + Array(parts.map { segments($0, depth) }.joined(separator: [UInt8(ascii: "?")]))
    }

    private static let slashes = Array("//".utf8)

    /// The first scheme of a text with the `://` behind it, before a query or fragment.
    private func scheme(_ text: ArraySlice<UInt8>) -> Range<Int>? {
        let head = text.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let delimiter = head.firstRange(of: Array("://".utf8)) else { return nil }
        var start = delimiter.lowerBound
        while start > text.startIndex, isSchemeByte(text[start - 1]) { start -= 1 }
        return start..<delimiter.upperBound
    }

    private func isSchemeByte(_ byte: UInt8) -> Bool {
        byte.isAlpha || byte.isDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    /// An address behind something else; the whole of it is a secret when it is the value of one.
    private func inner(
        _ lead: ArraySlice<UInt8>, _ address: ArraySlice<UInt8>, _ depth: Int
    ) -> [UInt8] {
        let isPath = lead.first == UInt8(ascii: "/")
        let shown = isPath ? segments(lead, depth) : parameters(lead, depth)
        let last = lead.reversed().prefix { !Array("/&;?".utf8).contains($0) }.reversed()
        if let equals = last.firstIndex(of: UInt8(ascii: "=")),
            hidesParameter(Array(last[..<equals])[...])
        {
            return shown
        }
        return shown + self.address(address, depth + 1)
    }

    /// Where name and password end, at the `@`; `nil` when there are none.
    ///
    /// A password with an unencoded `/`, `?` or `#` makes no valid address, and is one all the same.
    ///
    /// - Parameter isAuthority: Whether `text` begins with an authority, or only may do so.
    private func userInfoEnd(_ text: ArraySlice<UInt8>, isAuthority: Bool) -> Int? {
        let colon = UInt8(ascii: ":")
        let authority = text.prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            return isAuthority || authority[..<at].contains(colon) ? at : nil
        }
        guard let port = authority.lastIndex(of: colon).map({ authority[($0 + 1)...] }),
            !port.contains(UInt8(ascii: "]")), port.isEmpty || !port.allSatisfy(\.isDigit)
        else { return nil }
        return text[authority.endIndex...].lastIndex(of: UInt8(ascii: "@"))
    }

    /// A path: each segment may have parameters, behind `;` or alone.
    private func segments(_ path: ArraySlice<UInt8>, _ depth: Int) -> [UInt8] {
        Array(
            path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                .map { parameters($0, depth) }.joined(separator: [UInt8(ascii: "/")]))
    }

    /// Parameters with `&` between them, or `;`.
    ///
    /// A value may hold `;`, so a secret ends at the next `&` only.
    func parameters(_ text: ArraySlice<UInt8>, _ depth: Int) -> [UInt8] {
        Array(
            text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
                .map { pairs($0, depth) }.joined(separator: [UInt8(ascii: "&")]))
    }

    private func pairs(_ text: ArraySlice<UInt8>, _ depth: Int) -> [UInt8] {
        var shown: [UInt8] = []
        var pieces = text.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        while let piece = pieces.popFirst() {
            if let equals = piece.firstIndex(of: UInt8(ascii: "=")) {
                shown += piece[...equals]
                guard !hidesParameter(piece[..<equals]) else { return shown + Array(mark.utf8) }
                let value = piece[(equals + 1)...]
                let isAddress = value.contains { Array("=?#@".utf8).contains($0) }
                shown += nested(value, isAddress: isAddress, depth)
            } else {
                let isAddress = piece.firstRange(of: Self.slashes) != nil
                shown += nested(piece, isAddress: isAddress, depth)
            }
            if !pieces.isEmpty { shown.append(UInt8(ascii: ";")) }
        }
        return shown
    }

    /// What may be an address, or parameters, within another.
    private func nested(
        _ value: ArraySlice<UInt8>, isAddress: Bool, _ depth: Int
    ) -> [UInt8] {
        if value.contains(UInt8(ascii: "%")) {
            let decoded = percentDecoded(value)
            if decoded.count < value.count {
                let isOpen = address(decoded[...], depth + 1) == decoded
                return isOpen ? Array(value) : Array(mark.utf8)
            }
        }
        return isAddress ? address(value, depth + 1) : Array(value)
    }
}

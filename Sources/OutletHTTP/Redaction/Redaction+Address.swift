public import FoundationEssentials

extension Redaction {
    /// How deep URLs and JSON inside of each other are searched for secrets; deeper ones are replaced
    /// as a whole.
    static let maximumDepth = 8

    /// Returns a URL with user name, password and the values of secret parameters replaced.
    ///
    /// Parameters are those of the query, the fragment and the path segments. URLs inside of them
    /// are treated in the same way; a percent-encoded one is replaced as a whole if it contains a
    /// secret.
    ///
    /// - Parameter url: The URL, absolute or relative; not changed itself.
    public func url(_ url: URL) -> String { address(url.absoluteString) }

    /// Returns a URL with its secrets replaced, as ``url(_:)``.
    ///
    /// - Parameter text: A URL, a relative reference, or any text that need not be a valid URL.
    public func address(_ text: String) -> String {
        guard !showsEverything else { return text }
        return String(decoding: address(Array(text.utf8)[...], 0), as: UTF8.self)
    }

    /// Returns a URL for the text of an error, as ``address(_:)``, and at most 500 bytes of it: it may
    /// come from a server.
    package func shortAddress(_ text: String) -> String { address(text).shortened(toBytes: 500) }

    /// Returns a text of a peer for an error or a log line: on one line, without secrets, and at
    /// most 200 bytes of it.
    package func quote(_ text: String) -> String {
        // Shortened at last, because a secret is recognized by what follows it.
        TerminalText.visibleLine(self.text(text.shortened(toBytes: 4096))).shortened(toBytes: 200)
    }

    /// Returns the parameters of a query or form with the values of secret ones replaced.
    ///
    /// - Parameter text: `name=value` pairs, separated by `&` or `;`.
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
        // Skips further slashes: the user info of 'http:///user:password@host/' is a secret too,
        // although it is not in the authority.
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

    /// Returns the range of the first scheme and its `://`, if they are before a query or fragment.
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

    /// Returns a text that contains a URL, with secrets replaced in both.
    ///
    /// - Parameters:
    ///   - lead: The text before the URL. If it ends with `name=` of a secret parameter, the URL is
    ///     left out, because `lead` then ends with the mark.
    ///   - address: The URL.
    ///   - depth: How many URLs contain this one.
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

    /// Returns the index of the `@` after user name and password; `nil` if there are none.
    ///
    /// A password with an unencoded `/`, `?` or `#` makes the URL invalid, but is still a secret:
    /// the search goes on behind the authority if what follows the colon is not a port.
    ///
    /// - Parameters:
    ///   - text: The text from the possible authority on.
    ///   - isAuthority: Whether `text` follows `//`, so that it begins with an authority; otherwise
    ///     an `@` needs a colon before it.
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

    /// Returns a path with secrets replaced; each segment may contain parameters.
    private func segments(_ path: ArraySlice<UInt8>, _ depth: Int) -> [UInt8] {
        Array(
            path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                .map { parameters($0, depth) }.joined(separator: [UInt8(ascii: "/")]))
    }

    /// Returns parameters separated by `&` or `;` with secrets replaced.
    ///
    /// A value may contain `;`, so that a secret ends only at the next `&`.
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

    /// Returns a value that may be a URL, parameters or JSON, with secrets replaced.
    ///
    /// A value that is percent-encoded, or has `+` in place of spaces, is replaced as a whole if its
    /// decoded form contains a secret.
    private func nested(
        _ value: ArraySlice<UInt8>, isAddress: Bool, _ depth: Int
    ) -> [UInt8] {
        let plus = UInt8(ascii: "+")
        if value.contains(plus) {
            // Forms write spaces this way; with `+` between its tokens, JSON is not recognized.
            let decoded = percentDecoded(value.map { $0 == plus ? UInt8(ascii: " ") : $0 }[...])
            if let shown = jsonInside(decoded[...], depth + 1), shown != decoded {
                return Array(mark.utf8)
            }
        }
        if value.contains(UInt8(ascii: "%")) {
            let decoded = percentDecoded(value)
            if decoded.count < value.count {
                let shown =
                    jsonInside(decoded[...], depth + 1) ?? address(decoded[...], depth + 1)
                return shown == decoded ? Array(value) : Array(mark.utf8)
            }
        }
        if let shown = jsonInside(value, depth + 1) { return shown }
        return isAddress ? address(value, depth + 1) : Array(value)
    }
}

extension Redaction {
    /// Returns a text, such as an error message, with secrets replaced in the URLs and parameters
    /// that it contains.
    ///
    /// Parameters are `name=value`, also with blanks around the `=`, and members of JSON, also of JSON
    /// in a JSON string.
    ///
    /// - Parameter text: Any text; need not contain a URL.
    public func text(_ text: String) -> String {
        guard !showsEverything else { return text }
        return String(decoding: self.text(Array(text.utf8)[...]), as: UTF8.self)
    }

    func text(_ text: ArraySlice<UInt8>, _ depth: Int = 0) -> [UInt8] {
        guard text.contains(where: { Array("=@?#%:".utf8).contains($0) }) else {
            return Array(text)
        }
        var shown: [UInt8] = []
        var rest = text
        while let next = rest.first {
            let word = rest.prefix { !endsWord($0) }
            guard !word.isEmpty else {
                if let member = secretMember(&rest, after: text[..<rest.startIndex]) {
                    shown += member
                    continue
                }
                shown.append(next)
                rest.removeFirst()
                continue
            }
            rest = rest[word.endIndex...]
            if let name = secretBeforeQuotes(word, &rest) {
                shown += name + Array(mark.utf8)
                continue
            }
            if let lead = secretAfterBlanks(word, &rest) {
                shown += word + lead + Array(mark.utf8)
                continue
            }
            let closing = word.reversed().prefix { Array("'\")]},.;:!".utf8).contains($0) }
            let end = word.endIndex - closing.count
            shown += address(word[..<end], depth) + word[end...]
        }
        return shown
    }

    private func endsWord(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "<")
            || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "`")
    }

    /// Returns the name and `=` of a secret in quotes, `name="…"` or `name='…'`, which may contain
    /// blanks; `nil` if the word does not begin one.
    ///
    /// - Parameters:
    ///   - word: The text up to the next blank or double quote.
    ///   - rest: The text after the word; if a secret was found, set to the text after it.
    private func secretBeforeQuotes(
        _ word: ArraySlice<UInt8>, _ rest: inout ArraySlice<UInt8>
    ) -> ArraySlice<UInt8>? {
        guard let equals = word.firstIndex(of: UInt8(ascii: "=")), hidesParameter(word[..<equals])
        else { return nil }
        let value = word[(equals + 1)...]
        if value.isEmpty, rest.first == UInt8(ascii: "\"") {
            rest = rest[quotedEnd(rest)...]
            return word
        }
        guard value.first == UInt8(ascii: "'"),
            !value.dropFirst().contains(UInt8(ascii: "'"))
        else { return nil }
        rest = rest.drop { $0 != UInt8(ascii: "'") }.dropFirst()
        return word[...equals]
    }

    /// Returns what is between the name and the value of a secret, such as ` = `, if there are blanks;
    /// `nil` if the word does not begin one.
    ///
    /// - Parameters:
    ///   - word: The name, or the name and `=`.
    ///   - rest: The text after the word; if a secret was found, set to the text after it.
    private func secretAfterBlanks(
        _ word: ArraySlice<UInt8>, _ rest: inout ArraySlice<UInt8>
    ) -> ArraySlice<UInt8>? {
        guard rest.first?.isBlank == true else { return nil }
        var value = rest.drop(while: \.isBlank)
        if word.last == UInt8(ascii: "=") {
            guard hidesParameter(word.dropLast()) else { return nil }
        } else {
            guard value.first == UInt8(ascii: "="), hidesParameter(word) else { return nil }
            value = value.dropFirst().drop(while: \.isBlank)
        }
        guard let first = value.first, first != UInt8(ascii: "=") else { return nil }
        let end =
            switch first {
            case UInt8(ascii: "\""): quotedEnd(value)
            case UInt8(ascii: "'"):
                value.dropFirst().firstIndex(of: first).map { $0 + 1 } ?? value.endIndex
            default: value.prefix { !endsWord($0) }.endIndex
            }
        guard end > value.startIndex else { return nil }
        let lead = rest[..<value.startIndex]
        rest = rest[end...]
        return lead
    }

    /// The longest name of a member of JSON that is searched for in a text, in bytes.
    private static let longestMemberName = 128

    /// Returns a member of JSON with its value replaced; `nil` if the text does not begin with one that
    /// is a secret.
    ///
    /// The quotation marks of JSON in a JSON string follow one backslash, and three in a further one.
    ///
    /// - Parameters:
    ///   - rest: The text from a quotation mark on; if a secret was found, set to the text after it.
    ///   - lead: The text before.
    private func secretMember(
        _ rest: inout ArraySlice<UInt8>, after lead: ArraySlice<UInt8>
    ) -> [UInt8]? {
        let (mark, escape) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        guard rest.first == mark else { return nil }
        let depth = lead.suffix(8).reversed().prefix { $0 == escape }.count
        let name = rest.dropFirst().prefix(Self.longestMemberName).prefix { $0 != mark }
        var value = rest[name.endIndex...]
        guard value.first == mark, name.suffix(depth).allSatisfy({ $0 == escape }),
            name.count > depth, hidesParameter(name.dropLast(depth))
        else { return nil }
        value = value.dropFirst().drop(while: \.isBlank)
        guard value.first == UInt8(ascii: ":") else { return nil }
        value = value.dropFirst().drop(while: \.isBlank)
        let opening = value.prefix { $0 == escape }
        var end = value.startIndex
        let isText = opening.count == depth && value[opening.endIndex...].first == mark
        if isText {
            end = opening.endIndex + 1
            var escapes = 0
            while end < value.endIndex,
                value[end] != mark || escapes % (2 * (depth + 1)) != depth
            {
                escapes = value[end] == escape ? escapes + 1 : 0
                end += 1
            }
            end = min(end + 1, value.endIndex)
        } else if value.first == UInt8(ascii: "[") || value.first == UInt8(ascii: "{") {
            end = Self.containerEnd(value, depth)
        } else {
            end = value.prefix { !Array(",}] \t\r\n".utf8).contains($0) }.endIndex
            guard end > value.startIndex else { return nil }
        }
        let quote = isText ? Array(opening) + [mark] : []
        let shown = Array(rest[..<value.startIndex]) + quote + Array(self.mark.utf8) + quote
        rest = rest[end...]
        return shown
    }

    /// Returns the index after an array or object of JSON; the end of the text if it is cut off.
    ///
    /// - Parameters:
    ///   - value: The text from its bracket on.
    ///   - depth: The number of backslashes before each of its quotation marks.
    private static func containerEnd(_ value: ArraySlice<UInt8>, _ depth: Int) -> Int {
        var (level, escapes, isInText) = (0, 0, false)
        for (index, byte) in zip(value.indices, value) {
            switch byte {
            case UInt8(ascii: "\\"):
                escapes += 1
                continue
            case UInt8(ascii: "\"") where escapes % (2 * (depth + 1)) == depth: isInText.toggle()
            case UInt8(ascii: "["), UInt8(ascii: "{"): if !isInText { level += 1 }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if !isInText { level -= 1 }
                if level == 0 { return index + 1 }
            default: break
            }
            escapes = 0
        }
        return value.endIndex
    }

    // MARK: Lines of the wire log

    /// Returns a line of a head, which is a request line, a status line or a field, with secrets
    /// replaced.
    ///
    /// A line that begins with a blank is replaced as a whole: it continues a field whose name is
    /// not known here.
    package func headLine(_ line: ArraySlice<UInt8>) -> String {
        guard !showsEverything else { return String(decoding: line, as: UTF8.self) }
        if let first = line.first, first.isBlank { return mark }
        if line.starts(with: "HTTP/".utf8) { return String(decoding: text(line), as: UTF8.self) }
        let shown =
            field(line, isStrict: true) ?? requestLine(line) ?? field(line, isStrict: false)
        return String(decoding: shown ?? text(line), as: UTF8.self)
    }

    /// Returns a line of libcurl's debug output with secrets replaced: it contains user names and
    /// fields of HTTP/2.
    package func remark(_ line: ArraySlice<UInt8>) -> String {
        guard !showsEverything else { return String(decoding: line, as: UTF8.self) }
        return String(decoding: bracketed(line) ?? user(line) ?? text(line), as: UTF8.self)
    }

    /// Redacts a line such as `GET target HTTP/1.1`; `nil` for other lines.
    private func requestLine(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        guard let first = line.firstIndex(of: 0x20), let last = line.lastIndex(of: 0x20),
            first < last, line[(last + 1)...].starts(with: "HTTP/".utf8)
        else { return nil }
        return line[...first] + address(line[(first + 1)..<last], 0) + line[last...]
    }

    /// Redacts a line such as `name: value`; `nil` for other lines.
    ///
    /// - Parameters:
    ///   - line: The line without its line break.
    ///   - isStrict: Whether the name must be a token, which may follow a colon as in HTTP/2.
    private func field(_ line: ArraySlice<UInt8>, isStrict: Bool) -> [UInt8]? {
        guard let colon = line.dropFirst().firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = trimmed(line[..<colon])
        let isPseudo = name.first == UInt8(ascii: ":")
        let token = name.dropFirst(isPseudo ? 1 : 0)
        guard !token.isEmpty, !isStrict || token.allSatisfy(\.isToken) else { return nil }
        let value = line[(colon + 1)...]
        let start = value.prefix(while: \.isBlank).endIndex
        let shown =
            isPseudo ? address(value[start...], 0) : self.value(value[start...], named: name)
        return line[..<start] + shown
    }

    /// Redacts a line such as `h2h3 [name: value]`, or `[HTTP/2] [1] [name: value]` of later
    /// versions of libcurl; `nil` for other lines.
    private func bracketed(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        // libcurl cuts off long lines, which then have no closing bracket.
        let isWhole = line.last == UInt8(ascii: "]")
        let content = isWhole ? line.dropLast() : line
        for open in content.indices where content[open] == UInt8(ascii: "[") {
            if let field = field(content[(open + 1)...], isStrict: true) {
                return line[...open] + field + line[content.endIndex...]
            }
        }
        return nil
    }

    /// Redacts a line such as `Server auth using Basic with user 'name'`; `nil` for other lines.
    private func user(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        let phrase = Array(" with user '".utf8)
        guard let start = line.firstRange(of: phrase) else { return nil }
        return text(line[..<start.upperBound]) + Array(mark.utf8) + [UInt8(ascii: "'")]
    }
}

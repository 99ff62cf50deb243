import Outlet

/// An item after the URL, in HTTPie's grammar.
enum RequestItem: Sendable, Equatable {
    /// `Name:value`.
    case header(name: String, value: String)
    /// `Name:`; removes a field that would be sent by default.
    case unsetHeader(name: String)
    /// `Name;`.
    case emptyHeader(name: String)
    /// `name==value`.
    case query(name: String, value: String)
    /// `name=text`.
    case text(name: String, value: String)
    /// `name:=json`.
    case json(name: String, value: JSONValue)
    /// `@path`: the whole body.
    case bodyFile(path: String)
}

extension RequestItem {
    private enum Separator: String, CaseIterable {
        case query = "==", queryFile = "==@"
        case json = ":=", jsonFile = ":=@"
        case text = "=", textFile = "=@"
        case header = ":", headerFile = ":@"
        case emptyHeader = ";"
    }

    /// Parses an item.
    ///
    /// A backslash escapes `:`, `=`, `@` and `;`; before any other character it is a plain
    /// backslash. The first separator counts; of several at the same place, the longest one.
    ///
    /// Errors name an item without a separator by its number, because all of it may be a secret.
    ///
    /// - Parameters:
    ///   - text: The item as written.
    ///   - number: Its number, from 1.
    ///   - previous: The item before; `nil` if it is the first one.
    ///   - readFile: Returns the bytes of a file, for the forms with `@`.
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if the item is wrong, and any error of
    ///   `readFile`.
    init(
        parsing text: String, number: Int = 1, after previous: RequestItem? = nil,
        readFile: (String) throws(CommandError) -> [UInt8]
    ) throws(CommandError) {
        if text.startsWithBytes(of: "@"), text.utf8.count > 1 {
            self = .bodyFile(path: String(text.droppingBytes(1)))
            return
        }
        guard !text.startsWithBytes(of: "http://"), !text.startsWithBytes(of: "https://") else {
            let shown = Redaction.standard.address(text)
            throw .usage("item '\(shown)': a second URL, one request has one")
        }
        guard let (name, separator, value) = RequestItem.split(text) else {
            throw .usage(
                "item \(number): has no separator",
                advice: previous?.isHeader == true
                    ? "quote the whole header before it, if this is a part of its value"
                    : "Name:value, name==value, name=text or name:=json")
        }
        if name.isEmpty, [.header, .headerFile, .emptyHeader].contains(separator) {
            throw .usage(
                "item \(number): a header without a name",
                advice: "the URL stands before the items")
        }
        self = try RequestItem(name, separator, value, readFile: readFile)
    }

    private var isHeader: Bool {
        switch self {
        case .header, .unsetHeader: true
        case .emptyHeader, .query, .text, .json, .bodyFile: false
        }
    }

    private init(
        _ name: String, _ separator: Separator, _ value: String,
        readFile: (String) throws(CommandError) -> [UInt8]
    ) throws(CommandError) {
        switch separator {
        case .header where value.isEmpty: self = .unsetHeader(name: name)
        case .header: self = .header(name: name, value: value)
        case .headerFile:
            let content = try RequestItem.fileText(value, readFile)
            self = .header(name: name, value: RequestItem.withoutLineEnd(content))
        case .emptyHeader:
            guard value.isEmpty else {
                throw .usage(
                    "item '\(name);\(Redaction.standard.mark)': text behind ';'",
                    advice: "an empty header is 'Name;'")
            }
            self = .emptyHeader(name: name)
        case .query: self = .query(name: name, value: value)
        case .queryFile:
            let content = try RequestItem.fileText(value, readFile)
            self = .query(name: name, value: RequestItem.withoutLineEnd(content))
        case .text: self = .text(name: name, value: value)
        case .textFile: self = .text(name: name, value: try RequestItem.fileText(value, readFile))
        case .json:
            self = .json(name: name, value: try RequestItem.json(name, Array(value.utf8)))
        case .jsonFile: self = .json(name: name, value: try RequestItem.json(name, readFile(value)))
        }
    }

    /// Parses a JSON value; the error does not contain it, because it may be a secret.
    private static func json(_ name: String, _ bytes: [UInt8]) throws(CommandError) -> JSONValue {
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            throw .usage(
                "item '\(name):=': \(error)", advice: "for text write 'name=text' with one '='")
        }
    }

    private static func fileText(
        _ path: String, _ readFile: (String) throws(CommandError) -> [UInt8]
    ) throws(CommandError) -> String {
        guard let text = String(validating: try readFile(path), as: UTF8.self) else {
            throw .usage("\(path): not text in UTF-8")
        }
        return text
    }

    private static func withoutLineEnd(_ text: String) -> String {
        var bytes = text.utf8[...]
        while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
        return String(Substring(bytes))
    }

    private static func split(_ text: String) -> (name: String, Separator, value: String)? {
        var name: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            if byte == UInt8(ascii: "\\"), let next = rest.dropFirst().first, isSpecial(next) {
                name.append(next)
                rest = rest.dropFirst(2)
                continue
            }
            let found = Separator.allCases.filter { rest.starts(with: $0.rawValue.utf8) }
                .max { $0.rawValue.utf8.count < $1.rawValue.utf8.count }
            if let found {
                let value = unescaped(rest.dropFirst(found.rawValue.utf8.count))
                return (String(decoding: name, as: UTF8.self), found, value)
            }
            name.append(byte)
            rest = rest.dropFirst()
        }
        return nil
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        var value: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let next = rest.first, isSpecial(next) {
                value.append(next)
                rest = rest.dropFirst()
            } else {
                value.append(byte)
            }
        }
        return String(decoding: value, as: UTF8.self)
    }

    private static func isSpecial(_ byte: UInt8) -> Bool { ":=@;".utf8.contains(byte) }
}

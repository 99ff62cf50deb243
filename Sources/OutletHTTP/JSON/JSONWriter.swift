public import FoundationEssentials

/// The layout of a JSON text.
public struct JSONFormat: Sendable, Equatable {
    /// The number of spaces for each level; `nil` writes one line without spaces.
    public var indent: Int?
    /// Whether members are sorted by name instead of kept in order.
    public var sortsMembers: Bool
    /// Whether `/` is written as `\/`, so that a text inside an HTML page cannot contain
    /// `</script>`.
    public var escapesSlashes: Bool

    /// Makes a layout.
    ///
    /// - Parameters:
    ///   - indent: The number of spaces for each level; `nil` writes one line without spaces.
    ///   - sortsMembers: Whether members are sorted by name instead of kept in order.
    ///   - escapesSlashes: Whether `/` is written as `\/`, for texts inside HTML pages.
    public init(indent: Int? = nil, sortsMembers: Bool = false, escapesSlashes: Bool = false) {
        self.indent = indent
        self.sortsMembers = sortsMembers
        self.escapesSlashes = escapesSlashes
    }

    /// One line without spaces.
    public static let compact = JSONFormat()
    /// One line for each member and element, indented by two spaces for each level.
    public static let pretty = JSONFormat(indent: 2)
}

extension JSONValue {
    /// Returns the value as JSON in UTF-8, without a line break at its end.
    ///
    /// - Parameter format: The layout; one line without spaces by default.
    public func serialized(_ format: JSONFormat = .compact) -> Data {
        var writer = JSONWriter(format: format)
        writer.write(self, level: 0)
        return Data(writer.bytes)
    }

    /// Returns the value as JSON, without a line break at its end.
    ///
    /// - Parameter format: The layout; one line without spaces by default.
    public func text(_ format: JSONFormat = .compact) -> String {
        var writer = JSONWriter(format: format)
        writer.write(self, level: 0)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Returns a text escaped for a JSON string, without the quotation marks.
    ///
    /// - Parameter text: UTF-8, which may be a piece of a longer text and end within a character.
    package static func escaped(_ text: [UInt8]) -> [UInt8] {
        var writer = JSONWriter(format: .compact)
        writer.putEscaped(text)
        return writer.bytes
    }
}

struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private let format: JSONFormat

    init(format: JSONFormat) { self.format = format }

    mutating func write(_ value: JSONValue, level: Int) {
        switch value {
        case .null: put("null")
        case .bool(let value): put(value ? "true" : "false")
        case .number(let number): put(number.text)
        case .string(let string): putQuoted(string)
        case .array(let elements):
            writeList(elements, "[", "]", level: level) { $0.write($1, level: level + 1) }
        case .object(let object):
            let members =
                format.sortsMembers ? object.members.sorted { $0.name < $1.name } : object.members
            writeList(members, "{", "}", level: level) { writer, member in
                writer.putQuoted(member.name)
                writer.put(writer.format.indent == nil ? ":" : ": ")
                writer.write(member.value, level: level + 1)
            }
        }
    }

    private mutating func writeList<Element>(
        _ elements: [Element], _ open: String, _ close: String, level: Int,
        _ write: (inout JSONWriter, Element) -> Void
    ) {
        put(open)
        var isFirst = true
        for element in elements {
            if !isFirst { put(",") }
            isFirst = false
            breakLine(level: level + 1)
            write(&self, element)
        }
        if !elements.isEmpty { breakLine(level: level) }
        put(close)
    }

    private mutating func breakLine(level: Int) {
        guard let indent = format.indent else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent * level))
    }

    private mutating func put(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func putQuoted(_ string: String) {
        bytes.append(UInt8(ascii: "\""))
        putEscaped(string.utf8)
        bytes.append(UInt8(ascii: "\""))
    }

    fileprivate mutating func putEscaped(_ text: some Sequence<UInt8>) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""): put("\\\"")
            case UInt8(ascii: "\\"): put("\\\\")
            case UInt8(ascii: "/") where format.escapesSlashes: put("\\/")
            case 0x08: put("\\b")
            case 0x09: put("\\t")
            case 0x0A: put("\\n")
            case 0x0C: put("\\f")
            case 0x0D: put("\\r")
            // DEL need not be escaped, but could act on a terminal.
            case 0x00..<0x20, 0x7F:
                put(byte < 0x10 ? "\\u000" : "\\u00")
                put(String(byte, radix: 16))
            default: bytes.append(byte)
            }
        }
    }
}

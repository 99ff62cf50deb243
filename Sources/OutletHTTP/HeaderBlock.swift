import Glibc
import Synchronization

/// A received header section: its raw bytes, and a table of where each name and value is.
///
/// The section is parsed at the first access to a field, and strings are made when they are read.
/// A look-up compares lengths, then bytes.
///
/// A value that is not valid UTF-8 is decoded as Latin-1, which loses no byte. A CR or NUL in a
/// value becomes a space (RFC 9110 §5.5).
public struct HeaderBlock: @unchecked Sendable {
    // because a section never changes once it is made, except for the reference to its table, which
    // is atomic.

    /// The positions of one field, in bytes from the start of the section.
    struct Field: Sendable {
        var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
        var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
        let nameStart, nameEnd, valueStart, valueEnd: UInt32
        /// Whether the value has line breaks, which become spaces (RFC 9112 §5.2).
        var isFolded = false
    }

    /// The positions of all fields of a section.
    private final class Table: Sendable {
        let fields: [Field]

        init(_ fields: [Field]) { self.fields = fields }
    }

    private struct Prefix {
        let count: Int
        let marks: UInt64
    }

    /// The storage: the header section, status line included, lines ended by LF or CRLF.
    ///
    /// A single allocation, because every response needs one: the first word is the reference to
    /// the table, the bytes follow.
    private final class Section: ManagedBuffer<Prefix, UInt64> {
        /// A retained ``Table``, or `nil` until it is made.
        ///
        /// Unlike `AtomicLazyReference`, it needs no generic metadata for each access.
        private typealias Reference = Atomic<UnsafeRawPointer?>

        /// Makes a section.
        ///
        /// - Parameters:
        ///   - count: The number of bytes.
        ///   - marks: The bit set of the field names.
        ///   - table: The table, if it is known.
        ///   - fill: Writes the bytes.
        static func make(
            _ count: Int, _ marks: UInt64, _ table: Table? = nil,
            _ fill: (UnsafeMutableRawBufferPointer) -> Void
        ) -> Section {
            let words = 1 + (count + 7) / 8
            let section = create(minimumCapacity: words) { _ in
                Prefix(count: count, marks: marks)
            }
            section.withUnsafeMutablePointerToElements { words in
                let memory = UnsafeMutableRawPointer(words)
                let retained = table.map { UnsafeRawPointer(Unmanaged.passRetained($0).toOpaque()) }
                memory.initializeMemory(as: Reference.self, to: Reference(retained))
                fill(UnsafeMutableRawBufferPointer(start: memory + 8, count: count))
            }
            return unsafeDowncast(section, to: Section.self)
        }

        static func make(_ bytes: UnsafeRawBufferPointer, _ marks: UInt64) -> Section {
            make(bytes.count, marks) { $0.copyMemory(from: bytes) }
        }

        deinit {
            withReference { reference in
                if let table = reference.pointee.load(ordering: .acquiring) {
                    Unmanaged<Table>.fromOpaque(table).release()
                }
                reference.deinitialize(count: 1)
            }
        }

        private func withReference<Result>(
            _ body: (UnsafeMutablePointer<Reference>) -> Result
        ) -> Result {
            withUnsafeMutablePointerToElements { words in
                body(UnsafeMutableRawPointer(words).assumingMemoryBound(to: Reference.self))
            }
        }

        // By pointer: reading `header` would check for exclusive access, although nothing changes.
        var marks: UInt64 { withUnsafeMutablePointerToHeader { $0.pointee.marks } }
        var count: Int { withUnsafeMutablePointerToHeader { $0.pointee.count } }

        func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
            withUnsafeMutablePointers { prefix, words in
                let start = UnsafeRawPointer(words + 1).assumingMemoryBound(to: UInt8.self)
                return body(UnsafeBufferPointer(start: start, count: prefix.pointee.count))
            }
        }

        var fields: [Field] {
            withReference { reference in
                if let table = reference.pointee.load(ordering: .acquiring) {
                    return Unmanaged<Table>.fromOpaque(table).takeUnretainedValue().fields
                }
                let new = Unmanaged.passRetained(Table(withBytes(HeaderBlock.index)))
                let other = reference.pointee.compareExchange(
                    expected: nil, desired: UnsafeRawPointer(new.toOpaque()),
                    ordering: .acquiringAndReleasing
                ).original
                guard let other else { return new.takeUnretainedValue().fields }
                new.release()
                return Unmanaged<Table>.fromOpaque(other).takeUnretainedValue().fields
            }
        }
    }

    private let section: Section

    /// Makes a block from the bytes of a header section.
    ///
    /// Lines without a colon, such as the status line and the final empty line, are ignored. A line
    /// that begins with a blank continues the previous value (RFC 9112 §5.2).
    ///
    /// - Parameter bytes: The lines, each ended by LF or CRLF; fields beyond 4 GiB are ignored.
    public init(bytes: [UInt8]) {
        section = bytes.withUnsafeBytes { Section.make($0, .max) }
    }

    /// Makes a block that copies the bytes of a header section.
    ///
    /// - Parameters:
    ///   - bytes: The lines, as for ``init(bytes:)``.
    ///   - marks: The bit set of the field names, see ``FieldNames``; further bits only cost time.
    package init(copying bytes: UnsafeRawBufferPointer, marks: UInt64) {
        section = Section.make(bytes, marks)
    }

    private init(_ section: Section) { self.section = section }

    /// Returns a block with a further field at the end; copies no other field.
    ///
    /// - Returns: `nil` if there is a field of that name already, or if the line would not have the
    ///   same name and value.
    func adding(_ header: HTTPHeader) -> HeaderBlock? {
        var (name, value) = (header.name, header.value)
        let (nameCount, valueCount) = (name.utf8.count, value.utf8.count)
        let (start, end) = (byteCount, byteCount + nameCount + valueCount + 4)
        guard !header.isLatin1, let first = name.utf8.first, isToken(name), isFieldValue(value),
            value.utf8.first?.isBlank != true, value.utf8.last?.isBlank != true,
            end < Int(UInt32.max), section.withBytes({ $0.last == 0x0A }), !hasField(named: name)
        else { return nil }
        let field = Field(
            nameStart: UInt32(start), nameEnd: UInt32(start + nameCount),
            valueStart: UInt32(start + nameCount + 2), valueEnd: UInt32(end - 2))
        let marks = section.marks | FieldNames.mark(first: first, count: nameCount)
        let longer = Section.make(end, marks, Table(fields + [field])) { memory in
            section.withBytes { memory.copyMemory(from: UnsafeRawBufferPointer($0)) }
            name.withUTF8 { memory[start...].copyBytes(from: $0) }
            memory[start + nameCount] = UInt8(ascii: ":")
            memory[start + nameCount + 1] = UInt8(ascii: " ")
            value.withUTF8 { memory[(start + nameCount + 2)...].copyBytes(from: $0) }
            memory[end - 2] = UInt8(ascii: "\r")
            memory[end - 1] = UInt8(ascii: "\n")
        }
        return HeaderBlock(longer)
    }

    private func hasField(named name: String) -> Bool {
        var isFound = false
        forEachIndex(named: name) { _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// The length of the section in bytes.
    var byteCount: Int { section.count }

    /// The positions of the fields, in order; parses the section at the first access.
    var fields: [Field] { section.fields }

    /// The number of fields.
    public var count: Int { fields.count }

    /// Returns a field's name as received.
    func name(of field: Field) -> String {
        section.withBytes { String(decoding: $0[field.name], as: UTF8.self) }
    }

    /// Returns a field's value on one line, decoded as UTF-8, or as Latin-1 if it is not UTF-8.
    func value(of field: Field) -> String { withValue(of: field) { FieldText($0).value } }

    /// Returns a field with its value on one line.
    func header(of field: Field) -> HTTPHeader {
        HTTPHeader(name: name(of: field), decoding: withValue(of: field, FieldText.init))
    }

    /// Calls `body` with the bytes of a field's value on one line.
    func withValue<Result>(
        of field: Field, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        section.withBytes { block in
            Self.withLine(
                UnsafeBufferPointer(rebasing: block[field.value]), isFolded: field.isFolded, body)
        }
    }

    /// Returns a received value on one line, decoded as UTF-8, or as Latin-1 if it is not UTF-8.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> FieldText {
        withLine(bytes, isFolded: bytes.contains(0x0A), FieldText.init)
    }

    /// Calls `body` with the bytes of a received value on one line.
    private static func withLine<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, isFolded: Bool,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        guard isFolded || hasForbiddenByte(bytes) else { return body(bytes) }
        return line(bytes).withUnsafeBufferPointer(body)
    }

    /// Whether a field's value has no CR or NUL other than in its line breaks.
    func isAsReceived(_ field: Field) -> Bool {
        section.withBytes { block in
            !block[field.value].split(separator: 0x0A).contains { line in
                Self.hasForbiddenByte(
                    UnsafeBufferPointer(rebasing: line.last == 0x0D ? line.dropLast() : line))
            }
        }
    }

    /// Returns a field's value as a URI reference.
    ///
    /// If it is not valid UTF-8, each byte above 0x7F is percent-encoded, so that the next request
    /// has the bytes that the server sent.
    func reference(in field: Field) -> String {
        section.withBytes { block in
            let bytes = Self.line(UnsafeBufferPointer(rebasing: block[field.value]))
            return String(validating: bytes, as: UTF8.self) ?? bytes.percentEncodingNonASCII
        }
    }

    /// Whether a value contains CR or NUL, which become spaces (RFC 9110 §5.5).
    private static func hasForbiddenByte(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.contains { $0 == 0x0D || $0 == 0 }
    }

    /// Returns a value on one line: a line break with the blanks around it becomes one space, as do
    /// CR and NUL.
    private static func line(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var line: [UInt8] = []
        for part in bytes.split(separator: 0x0A) {
            let spaced = part.map { $0 == 0x0D || $0 == 0 ? 0x20 : $0 }
            let end = spaced.lastIndex { !$0.isBlank }.map { $0 + 1 } ?? 0
            let words = spaced[..<end].drop(while: \.isBlank)
            if !line.isEmpty, !words.isEmpty { line.append(0x20) }
            line += words
        }
        return line
    }

    /// Returns the indices of the fields with a name, in order.
    func indices(named name: String) -> [Int] {
        var found: [Int] = []
        forEachIndex(named: name) { index in
            found.append(index)
            return true
        }
        return found
    }

    /// Calls `body` with the index of each field with a name until it returns `false`.
    func forEachIndex(named name: String, _ body: (Int) -> Bool) {
        var name = name
        name.withUTF8 { forEachIndex(named: $0, body) }
    }

    /// Calls `body` with the index of each field with a name until it returns `false`.
    ///
    /// The bytes of the name need not be UTF-8.
    func forEachIndex(named name: UnsafeBufferPointer<UInt8>, _ body: (Int) -> Bool) {
        section.withBytes { block in
            for (index, field) in fields.enumerated() {
                guard Int(field.nameEnd - field.nameStart) == name.count else { continue }
                let candidate = UnsafeBufferPointer(rebasing: block[field.name])
                guard asciiEqualsIgnoringCase(candidate, name) else { continue }
                guard body(index) else { return }
            }
        }
    }

    /// Returns the reason phrase of the status line that the section begins with, such as `Not Found`;
    /// empty if the line ends after the status code.
    ///
    /// - Returns: `nil` if the section does not begin with a status line of HTTP/1 with this status code
    ///   (RFC 9112 §4).
    func reasonPhrase(of statusCode: Int) -> String? {
        section.withBytes { block in
            let line = block.prefix { $0 != 0x0A }
            guard line.starts(with: "HTTP/1.".utf8) || line.starts(with: "HTTP/1 ".utf8),
                let blank = line.firstIndex(of: 0x20)
            else { return nil }
            let rest = line[(blank + 1)...]
            guard rest.prefix(3).elementsEqual("\(statusCode)".utf8) else { return nil }
            let phrase = rest.dropFirst(3).drop { $0 == 0x20 }
            return Self.line(UnsafeBufferPointer(rebasing: phrase)).receivedText
        }
    }

    /// Whether the section may have a field with one of these names; looks at its marks only.
    func mayContain(_ wanted: FieldNames) -> Bool { section.marks & wanted.marks != 0 }

    /// Calls `body` with the value of each field with one of these names until it returns `false`.
    ///
    /// The value has the bytes received, line breaks included, without blanks at its ends. Does not
    /// parse the section.
    func forEachValue(
        of wanted: FieldNames, _ body: (UnsafeBufferPointer<UInt8>) -> Bool
    ) {
        guard mayContain(wanted) else { return }
        let names = wanted.names
        section.withBytes { block in
            guard let base = block.baseAddress else { return }
            var start = 0
            while start < block.count {
                var next = Self.find(0x0A, base, from: start, to: block.count) &+ 1
                guard wanted.mayBegin(with: base[start]),
                    let name = names.first(where: { Self.isField($0, block, start) })
                else {
                    start = next
                    continue
                }
                while next < block.count, block[next].isBlank {
                    next = Self.find(0x0A, base, from: next, to: block.count) &+ 1
                }
                let value = Self.trimmed(
                    block, from: start &+ name.utf8CodeUnitCount &+ 1, to: next &- 1)
                guard body(value) else { return }
                start = next
            }
        }
    }

    /// Returns the bytes without a CR at the end and without blanks at both ends.
    private static func trimmed(
        _ block: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int
    ) -> UnsafeBufferPointer<UInt8> {
        var (start, end) = (start, end)
        if end > start, block[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        end = trimmedEnd(block, from: start, to: end)
        while start < end, block[start].isBlank { start += 1 }
        return UnsafeBufferPointer(rebasing: block[start..<end])
    }

    /// Whether the line at `start` begins with a name and a colon.
    private static func isField(
        _ name: StaticString, _ block: UnsafeBufferPointer<UInt8>, _ start: Int
    ) -> Bool {
        let end = start &+ name.utf8CodeUnitCount
        guard end < block.count, block[end] == UInt8(ascii: ":") else { return false }
        return asciiEqualsIgnoringCase(
            UnsafeBufferPointer(rebasing: block[start..<end]),
            UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    private static func index(_ block: UnsafeBufferPointer<UInt8>) -> [Field] {
        guard let base = block.baseAddress else { return [] }
        var fields: [Field] = []
        fields.reserveCapacity(16)
        var start = 0
        let limit = min(block.count, Int(UInt32.max))
        while start < limit {
            var end = find(0x0A, base, from: start, to: limit)
            let next = end + 1
            if end > start, base[end - 1] == UInt8(ascii: "\r") { end -= 1 }
            defer { start = next }
            guard end > start else { continue }
            if base[start].isBlank {
                guard let last = fields.popLast() else { continue }
                fields.append(
                    Field(
                        nameStart: last.nameStart, nameEnd: last.nameEnd,
                        valueStart: last.valueStart,
                        valueEnd: UInt32(trimmedEnd(block, from: start, to: end)),
                        isFolded: true))
                continue
            }
            let colon = find(UInt8(ascii: ":"), base, from: start, to: end)
            guard colon < end, !isStatusLine(block, start, colon) else { continue }
            var valueStart = colon + 1
            while valueStart < end, base[valueStart].isBlank { valueStart += 1 }
            fields.append(
                Field(
                    nameStart: UInt32(start), nameEnd: UInt32(colon),
                    valueStart: UInt32(valueStart),
                    valueEnd: UInt32(trimmedEnd(block, from: valueStart, to: end))))
        }
        return fields
    }

    /// Returns the first index of a byte, or `end` if there is none.
    private static func find(
        _ byte: UInt8, _ base: UnsafePointer<UInt8>, from start: Int, to end: Int
    ) -> Int {
        guard let found = memchr(base + start, Int32(byte), end - start) else { return end }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// Whether a line with a colon is a status line, whose reason phrase may contain one.
    ///
    /// A status line has a space before the colon, a field name never has.
    private static func isStatusLine(
        _ block: UnsafeBufferPointer<UInt8>, _ start: Int, _ colon: Int
    ) -> Bool {
        colon - start > 8 && block[start] == UInt8(ascii: "H")
            && block[start + 4] == UInt8(ascii: "/") && block[start..<colon].contains(0x20)
    }

    private static func trimmedEnd(
        _ block: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int
    ) -> Int {
        var end = end
        while end > start, block[end - 1].isBlank { end -= 1 }
        return end
    }
}

extension [UInt8] {
    /// The bytes decoded as UTF-8, or as Latin-1 if they are not UTF-8.
    fileprivate var receivedText: String { withUnsafeBufferPointer { FieldText($0).value } }

    /// The bytes as text; those above 0x7F are percent-encoded.
    fileprivate var percentEncodingNonASCII: String {
        var text: [UInt8] = []
        for byte in self {
            if byte > 0x7F { text.appendEscape(of: byte) } else { text.append(byte) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

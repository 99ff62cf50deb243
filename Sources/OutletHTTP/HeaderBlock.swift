import Synchronization

/// A response's header fields as they came: the raw bytes, and where each name and value lies.
///
/// Fields are looked for when somebody asks for the first one, strings are made when somebody asks
/// for them; a look-up compares lengths, then bytes.
///
/// A value that is not UTF-8 is read as Latin-1, which loses nothing. A carriage return or a zero in
/// a value is read as a space (RFC 9110 §5.5).
public struct HeaderBlock: @unchecked Sendable {
    // because nothing of a section changes once it is made but the table's reference, which is
    // atomic.

    /// Where one field lies in ``bytes``, in bytes from its start.
    struct Field: Sendable {
        var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
        var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
        let nameStart, nameEnd, valueStart, valueEnd: UInt32
        /// Whether the value has line breaks, which are to be read as spaces (RFC 9112 §5.2).
        var isFolded = false
    }

    /// Where the fields of a section lie.
    private final class Table: Sendable {
        let fields: [Field]

        init(_ fields: [Field]) { self.fields = fields }
    }

    private struct Prefix {
        let count: Int
        let marks: UInt64
    }

    /// The header section, status line included, lines ended by LF or CRLF.
    ///
    /// One piece of memory, because every response has one: the first word refers to the table, the
    /// bytes follow.
    private final class Section: ManagedBuffer<Prefix, UInt64> {
        private typealias Reference = AtomicLazyReference<Table>

        static func make(_ bytes: UnsafeRawBufferPointer, _ marks: UInt64) -> Section {
            let words = 1 + (bytes.count + 7) / 8
            let section = create(minimumCapacity: words) { _ in
                Prefix(count: bytes.count, marks: marks)
            }
            section.withUnsafeMutablePointerToElements { words in
                let memory = UnsafeMutableRawPointer(words)
                memory.initializeMemory(as: Reference.self, to: Reference())
                guard let start = bytes.baseAddress else { return }
                (memory + 8).copyMemory(from: start, byteCount: bytes.count)
            }
            return unsafeDowncast(section, to: Section.self)
        }

        deinit {
            withUnsafeMutablePointerToElements { words in
                _ = UnsafeMutableRawPointer(words).assumingMemoryBound(to: Reference.self)
                    .deinitialize(count: 1)
            }
        }

        // By pointer, because nothing here changes, and `header` would have each look checked.
        var marks: UInt64 { withUnsafeMutablePointerToHeader { $0.pointee.marks } }
        var count: Int { withUnsafeMutablePointerToHeader { $0.pointee.count } }

        func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
            withUnsafeMutablePointers { prefix, words in
                let start = UnsafeRawPointer(words + 1).assumingMemoryBound(to: UInt8.self)
                return body(UnsafeBufferPointer(start: start, count: prefix.pointee.count))
            }
        }

        var fields: [Field] {
            withUnsafeMutablePointerToElements { words in
                let reference = UnsafeMutableRawPointer(words)
                    .assumingMemoryBound(to: Reference.self)
                if let table = reference.pointee.load() { return table.fields }
                let found = Table(withBytes(HeaderBlock.index))
                return reference.pointee.storeIfNil(found).fields
            }
        }
    }

    private let section: Section

    /// Takes a header section.
    ///
    /// A line without a colon (the status line, the final empty line) is passed over; a line that
    /// begins with a blank continues the value before it (RFC 9112 §5.2).
    ///
    /// - Parameter bytes: At most 4 GiB; what lies behind is ignored.
    public init(bytes: [UInt8]) {
        section = bytes.withUnsafeBytes { Section.make($0, .max) }
    }

    /// Copies a header section, and what its collector has noted of the names in it.
    ///
    /// - Parameter marks: The bits that ``FieldNames`` describes; one too many does no harm.
    package init(copying bytes: UnsafeRawBufferPointer, marks: UInt64) {
        section = Section.make(bytes, marks)
    }

    /// How many bytes the section has.
    var byteCount: Int { section.count }

    /// Where the fields lie, in order.
    var fields: [Field] { section.fields }

    /// How many fields the block holds.
    public var count: Int { fields.count }

    /// A field's name as it came.
    func name(of field: Field) -> String {
        section.withBytes { String(decoding: $0[field.name], as: UTF8.self) }
    }

    /// A field's value on one line: UTF-8, or Latin-1 where it is not that, so that no byte is lost.
    func value(of field: Field) -> String {
        section.withBytes { block in
            let bytes = UnsafeBufferPointer(rebasing: block[field.value])
            guard field.isFolded || Self.hasForbiddenByte(bytes) else { return Self.text(bytes) }
            return Self.line(bytes).withUnsafeBufferPointer { Self.text($0) }
        }
    }

    /// Whether no byte of a field's value is read as a space, but those of its line breaks.
    func isAsReceived(_ field: Field) -> Bool {
        section.withBytes { block in
            !block[field.value].split(separator: 0x0A).contains { line in
                Self.hasForbiddenByte(
                    UnsafeBufferPointer(rebasing: line.last == 0x0D ? line.dropLast() : line))
            }
        }
    }

    /// A field's value as a reference to an address: what is not UTF-8 is percent-encoded byte by
    /// byte, so that the server is asked for the bytes that it has named.
    func reference(in field: Field) -> String {
        section.withBytes { block in
            let bytes = Self.line(UnsafeBufferPointer(rebasing: block[field.value]))
            return String(validating: bytes, as: UTF8.self) ?? bytes.percentEncodingNonASCII
        }
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        // To validate what is not ASCII takes ten times as long.
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        return String(text)
    }

    /// Whether a value holds what no value may, and what is to be read as a space (RFC 9110 §5.5).
    private static func hasForbiddenByte(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.contains { $0 == 0x0D || $0 == 0 }
    }

    /// A value's bytes on one line: line breaks with the blanks around them, carriage returns and
    /// zeros are spaces.
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

    /// The indices of the fields of one name, in order.
    func indices(named name: String) -> [Int] {
        var found: [Int] = []
        forEachIndex(named: name) { index in
            found.append(index)
            return true
        }
        return found
    }

    /// Calls `body` with each field of that name until it answers false.
    func forEachIndex(named name: String, _ body: (Int) -> Bool) {
        var name = name
        name.withUTF8 { forEachIndex(named: $0, body) }
    }

    /// Calls `body` with each field of that name, any bytes, until it answers false.
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

    /// Whether a field of one of these names is there; no table is made to find out.
    func containsAny(of wanted: FieldNames) -> Bool {
        guard section.marks & wanted.marks != 0 else { return false }
        return section.withBytes { block in
            guard let base = block.baseAddress else { return false }
            var start = 0
            while start < block.count {
                for name in wanted.names where Self.isField(name, block, start) { return true }
                start = Self.find(0x0A, base, from: start, to: block.count) &+ 1
            }
            return false
        }
    }

    /// Whether a line begins with a name and a colon.
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

    /// Where a byte lies first; `end` when it does not.
    ///
    /// Eight bytes at a time, because every byte of every response passes here twice: a byte that
    /// is zero after the exclusive or is one that was looked for.
    private static func find(
        _ byte: UInt8, _ base: UnsafePointer<UInt8>, from start: Int, to end: Int
    ) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let wanted = ones &* UInt64(byte)
        var index = start
        while index &+ 8 <= end {
            let word = UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self).littleEndian
            let difference = word ^ wanted
            let zeros = (difference &- ones) & ~difference & (ones &* 0x80)
            if zeros != 0 { return index &+ zeros.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < end, base[index] != byte { index &+= 1 }
        return index
    }

    /// A status line may hold a colon in its reason phrase; a field name never holds a blank.
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
    /// The bytes as text, those above 0x7F percent-encoded.
    fileprivate var percentEncodingNonASCII: String {
        var text: [UInt8] = []
        for byte in self {
            guard byte > 0x7F else {
                text.append(byte)
                continue
            }
            text += "%\(String(byte, radix: 16, uppercase: true))".utf8
        }
        return String(decoding: text, as: UTF8.self)
    }
}

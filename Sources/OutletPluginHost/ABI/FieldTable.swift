import COutletPlugin
import Glibc
import OutletHTTP

/// The header fields of a request, in memory that a plugin may read.
///
/// Reads and changes work on bytes. Texts are made once, when the hook has answered, only for the
/// fields that it has changed.
struct FieldTable: ~Copyable, @unchecked Sendable {
    // @unchecked because the memory belongs to the table.

    private struct Field {
        let name: UnsafeMutableBufferPointer<UInt8>
        /// A part of the name, which usually tells it apart from others.
        let mark: UInt64
        /// The memory of the value, of which the first `length` bytes are used.
        let memory: UnsafeMutableBufferPointer<UInt8>
        var length: Int
        /// Whether the plugin has read the field; its memory then stays as it is.
        var isRead = false
        /// Whether the name is a token and not one that depends on other fields
        /// (``isFramingName(_:)``).
        let isOrdinary: Bool
        /// The position in the list that the table was made from; `nil` for a changed field.
        var origin: Int?

        var value: UnsafeMutableBufferPointer<UInt8> {
            .init(start: memory.baseAddress, count: length)
        }
    }

    /// The place of the first field with a name.
    struct Place {
        let position: Int
        /// Whether the name is a token and not one that depends on other fields
        /// (``isFramingName(_:)``).
        let isOrdinary: Bool
    }

    /// Memory of the arena for fields, of which the first ``count`` are used: an array would be
    /// retained for each read.
    private var fields = UnsafeMutableBufferPointer<Field>(start: nil, count: 0)
    /// The number of fields.
    private(set) var count = 0
    private var arena = ByteArena()
    private var list: CopiedFields?
    /// Whether the table has been made.
    private(set) var isLoaded = false
    /// Whether the fields differ from the list that the table was made from.
    private(set) var isChanged = false
    /// Whether a field has been removed, so that origins and positions may differ.
    private var lacksFields = false

    /// Copies a list of fields; called once.
    mutating func load(_ headers: HTTPHeaders) {
        assert(!isLoaded)
        isLoaded = true
        let isWellFormed = headers.isWellFormed
        // One more than there are, because a plugin that reads fields often adds one.
        reserve(headers.count + 1)
        headers.forEachField { name, value, isLatin1 in
            let name = arena.mutableCopy(name.utf8)
            let value =
                isLatin1
                ? arena.mutableCopy(value.latin1Bytes) : arena.mutableCopy(value.utf8)
            append(
                Field(
                    name: name, mark: Self.mark(.init(name)), memory: value, length: value.count,
                    isOrdinary: isWellFormed
                        || isToken(.init(name)) && !isFramingName(.init(name)),
                    origin: count))
            return true
        }
    }

    /// Returns the list that the table was made from with the changes made since.
    ///
    /// - Parameter headers: The list that the table was made from.
    func changes(to headers: HTTPHeaders) -> HTTPHeaders {
        guard isChanged else { return headers }
        var result = lacksFields ? HTTPHeaders() : headers
        for (position, field) in fields[..<count].enumerated() {
            if let origin = field.origin {
                if lacksFields { result.append(headers[origin]) }
                continue
            }
            let header = HTTPHeader(
                name: String(decoding: field.name, as: UTF8.self), valueBytes: field.value)
            if position < result.count {
                result.replace(at: position, with: header)
            } else {
                result.append(header)
            }
        }
        return result
    }

    // MARK: Reading

    /// Returns a value, whose bytes stay the same as long as the table exists.
    ///
    /// - Parameters:
    ///   - name: The name; the bytes need not be UTF-8.
    ///   - nth: The index among the fields with this name, from 0.
    /// - Returns: `nil` if there is no such field.
    // Inlined: a call would copy the table.
    @inline(__always)
    mutating func value(of name: UnsafeBufferPointer<UInt8>, _ nth: Int) -> CopiedBytes? {
        let mark = Self.mark(name)
        var others = nth
        var index = 0
        while index < count {
            if fields[index].mark == mark, Self.areSame(fields[index].name, name) {
                guard others > 0 else {
                    fields[index].isRead = true
                    return CopiedBytes(block: UnsafeRawBufferPointer(fields[index].value))
                }
                others &-= 1
            }
            index &+= 1
        }
        return nil
    }

    /// Returns all fields; the list and its bytes stay the same as long as the table exists.
    mutating func all() -> CopiedFields {
        if let list { return list }
        for index in 0..<count { fields[index].isRead = true }
        let made = arena.copy(
            fields[..<count].map {
                outlet_field(
                    name: CopiedBytes(block: .init($0.name)).view,
                    value: CopiedBytes(block: .init($0.value)).view)
            })
        list = made
        return made
    }

    /// Returns the place of the first field with a name; `nil` if there is none.
    // Inlined: a call would copy the table.
    @inline(__always)
    func first(named name: UnsafeBufferPointer<UInt8>) -> Place? {
        position(of: name).map { Place(position: $0, isOrdinary: fields[$0].isOrdinary) }
    }

    // MARK: Changing

    /// Replaces the first field with a name, and removes others with this name.
    ///
    /// - Parameters:
    ///   - place: The field, found by ``first(named:)``.
    ///   - name: The name, a token.
    ///   - value: The value, without control characters other than HTAB; need not be UTF-8.
    mutating func replace(
        _ place: Place, with name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let position = place.position
        if !fields[position].isRead, fields[position].memory.count >= value.count {
            UnsafeMutableRawBufferPointer(fields[position].name).copyMemory(from: .init(name))
            UnsafeMutableRawBufferPointer(fields[position].memory).copyMemory(from: .init(value))
            fields[position].length = value.count
            fields[position].origin = nil
        } else {
            fields[position] = field(name, value)
        }
        noteChange()
        if position + 1 < count { remove(name, from: position + 1) }
    }

    /// Appends a field.
    ///
    /// - Parameters:
    ///   - name: The name, a token.
    ///   - value: The value, without control characters other than HTAB; need not be UTF-8.
    mutating func append(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) {
        append(field(name, value))
        noteChange()
    }

    /// Removes all fields with a name, from a position on.
    mutating func remove(_ name: UnsafeBufferPointer<UInt8>, from start: Int = 0) {
        guard let first = position(of: name, from: start) else { return }
        let mark = Self.mark(name)
        var kept = first
        for index in first..<count {
            if fields[index].mark == mark, Self.areSame(fields[index].name, name) { continue }
            fields[kept] = fields[index]
            kept += 1
        }
        count = kept
        lacksFields = true
        noteChange()
    }

    /// Removes all fields with a name.
    mutating func remove(_ name: StaticString) {
        remove(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// Discards all fields, but not the memory that the plugin may be reading.
    mutating func close() {
        count = 0
        list = nil
        isChanged = false
    }

    private mutating func append(_ field: Field) {
        reserve(count + 1)
        fields.initializeElement(at: count, to: field)
        count += 1
    }

    /// Provides memory for a number of fields.
    private mutating func reserve(_ needed: Int) {
        guard needed > fields.count else { return }
        let memory = arena.allocate(
            max(needed, 2 * fields.count) * MemoryLayout<Field>.stride,
            alignment: MemoryLayout<Field>.alignment
        ).bindMemory(to: Field.self)
        _ = memory.initialize(fromContentsOf: fields[..<count])
        fields = memory
    }

    private mutating func noteChange() {
        isChanged = true
        list = nil
    }

    private mutating func field(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) -> Field {
        let copy = arena.mutableCopy(name)
        // A power of two, so that values that grow need twice the memory of the longest at most.
        let size = 1 << (Int.bitWidth - max(value.count, 16).leadingZeroBitCount)
        let memory = arena.allocate(size).bindMemory(to: UInt8.self)
        _ = memory.update(fromContentsOf: value)
        return Field(
            name: copy, mark: Self.mark(name), memory: memory, length: value.count,
            isOrdinary: !isFramingName(name), origin: nil)
    }

    // MARK: Searching

    /// Returns the position of the first field with a name, from a position on.
    // Inlined: a call would copy the table.
    @inline(__always)
    private func position(of name: UnsafeBufferPointer<UInt8>, from start: Int = 0) -> Int? {
        let mark = Self.mark(name)
        var index = start
        while index < count {
            if fields[index].mark == mark, Self.areSame(fields[index].name, name) { return index }
            index &+= 1
        }
        return nil
    }

    /// Returns the last eight bytes of a name, with `A` to `Z` as `a` to `z`.
    @inline(__always)
    private static func mark(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
        guard name.count >= 8 else { return markOfShort(name) }
        let last = UnsafeRawBufferPointer(name).loadUnaligned(
            fromByteOffset: name.count &- 8, as: UInt64.self)
        return last | 0x2020_2020_2020_2020
    }

    @inline(never)
    private static func markOfShort(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
        name.reduce(0) { $0 << 8 | UInt64($1 | 0x20) }
    }

    /// Whether two names, whose marks are equal, are the same.
    // Takes names, not fields: to pass a field would copy it.
    @inline(__always)
    private static func areSame(
        _ own: UnsafeMutableBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard own.count == name.count, let a = UnsafeRawPointer(own.baseAddress),
            let b = UnsafeRawPointer(name.baseAddress)
        else { return false }
        // Usually even the case of the letters is the same. Names of usual lengths are compared
        // without a call: the first eight bytes and the last eight, which may overlap.
        if 8...16 ~= name.count {
            let last = name.count &- 8
            if a.loadUnaligned(as: UInt64.self) == b.loadUnaligned(as: UInt64.self),
                (a + last).loadUnaligned(as: UInt64.self)
                    == (b + last).loadUnaligned(as: UInt64.self)
            {
                return true
            }
        } else if memcmp(a, b, name.count) == 0 {
            return true
        }
        return areSameIgnoringCase(own, name)
    }

    @inline(never)
    private static func areSameIgnoringCase(
        _ own: UnsafeMutableBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        asciiEqualsIgnoringCase(.init(own), name)
    }
}

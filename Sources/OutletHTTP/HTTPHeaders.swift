/// Header fields in order; names are compared case-insensitively (ASCII).
///
/// ``add(name:value:)`` and ``update(name:value:)`` keep one field per name, as Alamofire does.
/// ``append(name:value:)`` adds a field even if the name exists, which HTTP allows
/// (RFC 9110 §5.3). Fields received from a server keep their bytes; a value is decoded when it is
/// read, as UTF-8, or as Latin-1 if the bytes are not valid UTF-8. ``HTTPHeader/valueBytes`` are
/// the bytes.
public struct HTTPHeaders: Sendable {
    // Two properties instead of an enum: an enum stores its tag in spare bits of the reference, and
    // leak checkers do not recognise such a reference and report the memory as lost.

    /// The fields as strings; empty while ``received`` holds the fields.
    private var own: [HTTPHeader] = []

    /// The fields as received from a server; `nil` once a field is changed.
    private var received: HeaderBlock?

    /// Whether all fields are known to be ``HTTPHeader/isWellFormed``; `false` if not known.
    ///
    /// Computed when a field is set, because a request is sent more often than its fields change.
    package private(set) var isWellFormed = true

    /// No fields.
    public init() {}

    /// Makes fields from a list; of equal names the last value wins, at the first one's position.
    ///
    /// - Parameter headers: The fields, in order.
    public init(_ headers: [HTTPHeader]) {
        self.init()
        for header in headers { update(header) }
    }

    /// Makes fields from a dictionary, sorted by name.
    ///
    /// Of names that differ in case only, the last one in that order wins.
    ///
    /// - Parameter dictionary: The values by field name.
    public init(_ dictionary: [String: String]) {
        self.init()
        var fields: [HTTPHeader] = []
        fields.reserveCapacity(dictionary.count)
        for (name, value) in dictionary { fields.append(HTTPHeader(name: name, value: value)) }
        fields.sort { $0.name < $1.name }
        let hasRepeats = fields.indices.contains { index in
            Self.position(of: fields[index].name, in: fields, from: index + 1) != nil
        }
        if hasRepeats {
            for field in fields { update(field) }
        } else {
            isWellFormed = fields.allSatisfy(\.isWellFormed)
            own = fields
        }
    }

    /// Makes the fields of a received header section, unchanged.
    ///
    /// - Parameter block: The parsed section; its bytes are decoded when they are read.
    public init(_ block: HeaderBlock) {
        received = block
        isWellFormed = false
    }

    /// The fields in order, as strings.
    private var fields: [HTTPHeader] {
        guard let received else { return own }
        return received.fields.map(received.header)
    }

    /// Calls `body` with each field in order until it returns `false`.
    ///
    /// The transport uses it to send the fields: unlike iteration, it retains no strings of fields
    /// that were set by the caller.
    package func forEachField(
        _ body: (_ name: String, _ value: String, _ isLatin1: Bool) -> Bool
    ) {
        guard received == nil else {
            for header in self {
                guard body(header.name, header.value, header.isLatin1) else { return }
            }
            return
        }
        own.withUnsafeBufferPointer { fields in
            for index in fields.indices {
                guard body(fields[index].name, fields[index].value, fields[index].isLatin1) else {
                    return
                }
            }
        }
    }

    /// Whether both share the same array storage, so that neither was changed since the copy.
    ///
    /// `false` for received fields.
    package func isSame(as other: HTTPHeaders) -> Bool {
        received == nil && other.received == nil && haveSameBits(own, other.own)
    }

    /// The position of the first field with a name, at or after `start`.
    private static func position(
        of name: String, in fields: [HTTPHeader], from start: Int = 0
    ) -> Int? {
        var name = name
        return name.withUTF8 { name in
            fields.withUnsafeBufferPointer { fields in
                var index = start
                while index < fields.count {
                    if fields[index].isNamed(name) { return index }
                    index += 1
                }
                return nil
            }
        }
    }

    private mutating func mutate(_ body: (inout [HTTPHeader]) -> Void) {
        if received != nil {
            own = fields
            received = nil
        }
        body(&own)
    }

    // MARK: One field per name

    /// Same as ``update(name:value:)``.
    ///
    /// - Parameters:
    ///   - name: The field's name; compared case-insensitively, sent as given.
    ///   - value: The new value.
    public mutating func add(name: String, value: String) {
        update(HTTPHeader(name: name, value: value))
    }

    /// Same as ``update(_:)``.
    ///
    /// - Parameter header: The field to set.
    public mutating func add(_ header: HTTPHeader) {
        update(header)
    }

    /// Sets a field: replaces the first one of that name and removes the rest, or appends it.
    ///
    /// - Parameters:
    ///   - name: The field's name; compared case-insensitively, sent as given.
    ///   - value: The new value.
    public mutating func update(name: String, value: String) {
        update(HTTPHeader(name: name, value: value))
    }

    /// Sets a field: replaces the first one of that name and removes the rest, or appends it.
    ///
    /// - Parameter header: The field; its name is compared case-insensitively and sent as given.
    public mutating func update(_ header: HTTPHeader) {
        if let longer = received?.adding(header) {
            received = longer
            return
        }
        if isWellFormed { isWellFormed = header.isWellFormed }
        mutate { fields in
            guard let first = Self.position(of: header.name, in: fields) else {
                fields.append(header)
                return
            }
            fields[first] = header
            while let next = Self.position(of: header.name, in: fields, from: first + 1) {
                fields.remove(at: next)
            }
        }
    }

    /// Replaces the field at a position.
    package mutating func replace(at position: Int, with header: HTTPHeader) {
        if isWellFormed { isWellFormed = header.isWellFormed }
        mutate { $0[position] = header }
    }

    /// Appends the fields of `defaults` whose names do not exist here; repeated ones included.
    ///
    /// - Parameter defaults: The fields to append; those whose names exist here are skipped.
    public mutating func addMissing(from defaults: HTTPHeaders) {
        if isWellFormed { isWellFormed = defaults.isWellFormed }
        mutate { fields in
            let own = fields
            for header in defaults.fields where !own.contains(where: { $0.isNamed(header.name) }) {
                fields.append(header)
            }
        }
    }

    /// Removes all fields with a name, compared case-insensitively.
    ///
    /// - Parameter name: The name, compared case-insensitively.
    public mutating func remove(name: String) {
        mutate { $0.removeAll { $0.isNamed(name) } }
    }

    // MARK: Repeated fields

    /// Appends a field, even if one with the same name exists.
    ///
    /// - Parameters:
    ///   - name: The field's name, sent as given.
    ///   - value: The field's value.
    public mutating func append(name: String, value: String) {
        append(HTTPHeader(name: name, value: value))
    }

    /// Appends a field, even if one with the same name exists.
    ///
    /// - Parameter header: The field to append.
    public mutating func append(_ header: HTTPHeader) {
        if isWellFormed { isWellFormed = header.isWellFormed }
        mutate { $0.append(header) }
    }

    /// Returns the values of all fields with a name, in order; empty if there is none.
    ///
    /// - Parameter name: The name, compared case-insensitively.
    public func values(for name: String) -> [String] {
        guard let received else { return own.lazy.filter { $0.isNamed(name) }.map(\.value) }
        return received.indices(named: name).map { received.value(of: received.fields[$0]) }
    }

    /// Returns the position of the nth field with a name.
    ///
    /// - Parameters:
    ///   - name: The bytes of the name, compared case-insensitively; need not be UTF-8.
    ///   - nth: The index among the fields with that name, from 0.
    package func position(named name: UnsafeBufferPointer<UInt8>, _ nth: Int) -> Int? {
        var left = nth
        if let received {
            var found: Int?
            received.forEachIndex(named: name) { index in
                left -= 1
                if left < 0 { found = index }
                return left >= 0
            }
            return found
        }
        return own.withUnsafeBufferPointer { fields in
            for index in fields.indices where fields[index].isNamed(name) {
                left -= 1
                if left < 0 { return index }
            }
            return nil
        }
    }

    /// Calls `body` with the bytes of the value at a position, as sent or received.
    ///
    /// - Parameters:
    ///   - position: The index of the field, from 0; a trap if it is out of range.
    ///   - body: Receives the bytes, which are valid until it returns.
    package func withValue<Result>(
        at position: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        if let received { return received.withValue(of: received.fields[position], body) }
        return own[position].withValueBytes(body)
    }

    /// Returns the value of the first field with a name as a URI reference (RFC 3986 §4.1).
    ///
    /// If the bytes are not valid UTF-8, each byte above 0x7F is percent-encoded, so that the next
    /// request has the bytes that the server sent; ``value(for:)`` would decode them as Latin-1.
    package func reference(for name: String) -> String? {
        guard let received else { return values(for: name).first }
        return received.indices(named: name).first.map {
            received.reference(in: received.fields[$0])
        }
    }

    /// Whether no field with a name was received with a CR or NUL in its value, which
    /// ``value(for:)`` returns as a space.
    package func areAsReceived(_ name: String) -> Bool {
        guard let received else { return true }
        return received.indices(named: name).allSatisfy {
            received.isAsReceived(received.fields[$0])
        }
    }

    /// Returns the reason phrase of the status line that came with the fields; `nil` if they did not come
    /// with one over HTTP/1 that has this status code, or one of them was replaced or removed since.
    func reasonPhrase(of statusCode: Int) -> String? { received?.reasonPhrase(of: statusCode) }

    /// An estimate of the memory that the fields use, in bytes; does not parse received fields.
    package var weight: Int {
        received.map { $0.byteCount * 2 } ?? own.count * 64
    }

    /// Whether a field with one of these names exists; cheaper than reading values.
    package func containsAny(of wanted: FieldNames) -> Bool {
        var isFound = false
        forEachValue(of: wanted) { _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// Whether a field with one of these names may exist; false for most received sections without
    /// one, and cheaper than ``containsAny(of:)``.
    package func mayContain(_ wanted: FieldNames) -> Bool {
        guard let received else { return true }
        return received.mayContain(wanted)
    }

    /// Calls `body` with the bytes of the value of each field with one of these names, in order,
    /// until it returns `false`.
    ///
    /// The bytes are as received; ``HTTPHeader/init(_:ofReceived:)`` decodes them. Does not parse
    /// the section.
    package func forEachValue(
        of wanted: FieldNames, _ body: (UnsafeBufferPointer<UInt8>) -> Bool
    ) {
        if let received { return received.forEachValue(of: wanted, body) }
        own.withUnsafeBufferPointer { fields in
            for index in fields.indices where wanted.contains(fields[index].name) {
                guard fields[index].withValueBytes(body) else { return }
            }
        }
    }

    /// Returns the value of a field; values of repeated fields are joined with `", "`
    /// (RFC 9110 §5.3).
    ///
    /// Values of `Set-Cookie` cannot be joined: this returns the first one; ``values(for:)``
    /// returns all.
    ///
    /// - Parameter name: The name, compared case-insensitively.
    /// - Returns: `nil` if there is no such field.
    public func value(for name: String) -> String? {
        if received == nil {
            guard let first = Self.position(of: name, in: own) else { return nil }
            // Most fields are not repeated: this avoids an array.
            guard Self.position(of: name, in: own, from: first + 1) != nil else {
                return own[first].value
            }
        }
        let values = values(for: name)
        guard values.count > 1 else { return values.first }
        return asciiEqualsIgnoringCase(name, "Set-Cookie")
            ? values[0] : values.joined(separator: ", ")
    }

    /// The value of a field, as ``value(for:)``; `nil` if there is none.
    ///
    /// Setting a value calls ``update(name:value:)``; setting `nil` calls ``remove(name:)``.
    ///
    /// - Parameter name: The name, compared case-insensitively.
    public subscript(_ name: String) -> String? {
        get { value(for: name) }
        set {
            if let newValue {
                update(name: name, value: newValue)
            } else {
                remove(name: name)
            }
        }
    }

    // MARK: Order and views

    /// Sorts the fields by name, case-insensitively; fields with equal names keep their order.
    public mutating func sort() {
        mutate { fields in
            fields = fields.enumerated()
                .map {
                    (key: $0.element.name.lowercasedASCII, offset: $0.offset, header: $0.element)
                }
                .sorted { ($0.key, $0.offset) < ($1.key, $1.offset) }
                .map(\.header)
        }
    }

    /// Returns the fields sorted by name, case-insensitively.
    public func sorted() -> HTTPHeaders {
        var sorted = self
        sorted.sort()
        return sorted
    }

    /// The fields as a dictionary; repeated ones are joined as in ``value(for:)``.
    ///
    /// Of names that differ in case only, the first one is the key.
    public var dictionary: [String: String] {
        var dictionary: [String: String] = [:]
        var names: [String: String] = [:]
        for header in fields {
            let key = header.name.lowercasedASCII
            let name = names[key] ?? header.name
            names[key] = name
            dictionary[name] = value(for: name)
        }
        return dictionary
    }
}

extension HTTPHeader {
    func isNamed(_ other: String) -> Bool { asciiEqualsIgnoringCase(name, other) }

    func isNamed(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.utf8.count == other.count else { return false }
        var name = name
        return name.withUTF8 { asciiEqualsIgnoringCase($0, other) }
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    /// Makes fields in the order written; of equal names the last value wins.
    ///
    /// - Parameter elements: The names and values, in order.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init()
        for (name, value) in elements { update(name: name, value: value) }
    }

    /// Makes fields in the order written; of equal names the last value wins.
    ///
    /// - Parameter elements: The fields, in order.
    public init(arrayLiteral elements: HTTPHeader...) {
        self.init(elements)
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The position of the first field.
    public var startIndex: Int { 0 }

    /// The position after the last field.
    public var endIndex: Int { received?.count ?? own.count }

    /// The field at a position.
    ///
    /// - Parameter position: The index of the field, from 0; a trap if it is out of range.
    public subscript(position: Int) -> HTTPHeader {
        guard let received else { return own[position] }
        return received.header(of: received.fields[position])
    }
}

extension HTTPHeaders: Equatable, Hashable {
    /// Whether both have the same fields in the same order; names are compared case-sensitively.
    public static func == (a: HTTPHeaders, b: HTTPHeaders) -> Bool {
        a.isSame(as: b) || a.fields == b.fields
    }

    /// Hashes the fields in order.
    public func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}

/// Header fields in order, names matched without regard to case.
///
/// ``add(name:value:)`` and ``update(name:value:)`` keep one field per name, as dictionaries of
/// headers do elsewhere; ``append(name:value:)`` repeats a field, which HTTP allows
/// (RFC 9110 §5.3). Fields received from a server keep their bytes until a value is asked for, which
/// is UTF-8, or Latin-1 where the bytes are not that.
public struct HTTPHeaders: Sendable {
    // Not an enum of the two: that keeps its tag in bits of the reference, and memory that is
    // referred to by such alone is lost to a leak check.

    /// The fields as values; none as long as ``received`` has them.
    private var own: [HTTPHeader] = []

    /// The fields as they came from a peer, until one is changed.
    private var received: HeaderBlock?

    /// Whether every name is known to be a token, no value to hold a control character, and no field
    /// to say how a message is framed.
    ///
    /// Found out when a field is set, because a request is sent more often than its fields change.
    package private(set) var isWellFormed = true

    /// No fields.
    public init() {}

    /// The fields given; of equal names the last wins and takes the place of the first.
    public init(_ headers: [HTTPHeader]) {
        self.init()
        for header in headers { update(header) }
    }

    /// The entries of a dictionary, by name; of names that differ in case only, the last wins.
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

    /// The fields of a received header section, unchanged.
    public init(_ block: HeaderBlock) {
        received = block
        isWellFormed = false
    }

    /// The fields in order, as values.
    private var fields: [HTTPHeader] {
        guard let received else { return own }
        return received.fields.map {
            HTTPHeader(name: received.name(of: $0), value: received.value(of: $0))
        }
    }

    /// Calls `body` with each field in order until it answers false.
    ///
    /// For the wire: unlike iteration, it copies no strings of fields that are values already.
    package func forEachField(_ body: (_ name: String, _ value: String) -> Bool) {
        guard received == nil else {
            for header in self { guard body(header.name, header.value) else { return } }
            return
        }
        own.withUnsafeBufferPointer { fields in
            for index in fields.indices {
                guard body(fields[index].name, fields[index].value) else { return }
            }
        }
    }

    /// Whether both are copies of one, of which none was changed; false for fields from a peer.
    package func isSame(as other: HTTPHeaders) -> Bool {
        guard received == nil, other.received == nil, own.count == other.own.count else {
            return false
        }
        return own.withUnsafeBufferPointer { own in
            other.own.withUnsafeBufferPointer { $0.baseAddress == own.baseAddress }
        }
    }

    /// Where the first field of a name is, from a position on.
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
    public mutating func add(name: String, value: String) {
        update(HTTPHeader(name: name, value: value))
    }

    /// Same as ``update(_:)``.
    public mutating func add(_ header: HTTPHeader) {
        update(header)
    }

    /// Sets a field: replaces the first of that name, removes further ones, or appends it.
    public mutating func update(name: String, value: String) {
        update(HTTPHeader(name: name, value: value))
    }

    /// Sets a field: replaces the first of that name, removes further ones, or appends it.
    public mutating func update(_ header: HTTPHeader) {
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

    /// Puts a field in the place of the one at a position.
    package mutating func replace(at position: Int, with header: HTTPHeader) {
        if isWellFormed { isWellFormed = header.isWellFormed }
        mutate { $0[position] = header }
    }

    /// Appends those fields of `defaults` whose names are not there yet.
    public mutating func addMissing(from defaults: HTTPHeaders) {
        if isWellFormed { isWellFormed = defaults.isWellFormed }
        mutate { fields in
            let own = fields
            for header in defaults.fields where !own.contains(where: { $0.isNamed(header.name) }) {
                fields.append(header)
            }
        }
    }

    /// Removes all fields of a name; the case of ASCII letters is ignored.
    public mutating func remove(name: String) {
        mutate { $0.removeAll { $0.isNamed(name) } }
    }

    // MARK: Repeated fields

    /// Appends a field, even if there is one of the same name.
    public mutating func append(name: String, value: String) {
        append(HTTPHeader(name: name, value: value))
    }

    /// Appends a field, even if there is one of the same name.
    public mutating func append(_ header: HTTPHeader) {
        if isWellFormed { isWellFormed = header.isWellFormed }
        mutate { $0.append(header) }
    }

    /// The values of all fields of a name, in order; empty if there is none.
    public func values(for name: String) -> [String] {
        guard let received else { return own.lazy.filter { $0.isNamed(name) }.map(\.value) }
        return received.indices(named: name).map { received.value(of: received.fields[$0]) }
    }

    /// The nth field of a name, from 0: where it is among all, and its value.
    ///
    /// - Parameter name: Any bytes.
    package func field(
        named name: UnsafeBufferPointer<UInt8>, _ nth: Int
    ) -> (position: Int, value: String)? {
        var left = nth
        if let received {
            var found: Int?
            received.forEachIndex(named: name) { index in
                left -= 1
                if left < 0 { found = index }
                return left >= 0
            }
            return found.map { ($0, received.value(of: received.fields[$0])) }
        }
        return own.withUnsafeBufferPointer { fields in
            for index in fields.indices where fields[index].isNamed(name) {
                left -= 1
                if left < 0 { return (index, fields[index].value) }
            }
            return nil
        }
    }

    /// The value of the first field of a name, as a reference to an address (RFC 3986 §4.1).
    ///
    /// Bytes that are not UTF-8 are percent-encoded each, where a value would have them as Latin-1.
    package func reference(for name: String) -> String? {
        guard let received else { return values(for: name).first }
        return received.indices(named: name).first.map {
            received.reference(in: received.fields[$0])
        }
    }

    /// Whether all fields of a name came as their values are: none has a byte in it, a carriage return
    /// or a zero, that is read as a space.
    package func areAsReceived(_ name: String) -> Bool {
        guard let received else { return true }
        return received.indices(named: name).allSatisfy {
            received.isAsReceived(received.fields[$0])
        }
    }

    /// About how many bytes of memory the fields take; no table is made to find out.
    package var weight: Int {
        received.map { $0.byteCount * 2 } ?? own.count * 64
    }

    /// Whether a field of one of these names is there; cheaper than asking for values.
    package func containsAny(of wanted: FieldNames) -> Bool {
        guard let received else {
            return own.contains { field in wanted.names.contains { field.isNamed($0) } }
        }
        return received.containsAny(of: wanted)
    }

    /// The value of a field; repeated ones are joined by `", "` (RFC 9110 §5.3).
    ///
    /// `Set-Cookie` cannot be joined: its first value is returned, ``values(for:)`` has them all.
    public func value(for name: String) -> String? {
        if received == nil {
            guard let first = Self.position(of: name, in: own) else { return nil }
            // Most fields are there once: no list is made then.
            guard Self.position(of: name, in: own, from: first + 1) != nil else {
                return own[first].value
            }
        }
        let values = values(for: name)
        guard values.count > 1 else { return values.first }
        return asciiEqualsIgnoringCase(name, "Set-Cookie")
            ? values[0] : values.joined(separator: ", ")
    }

    /// The value of a field; setting `nil` removes it.
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

    /// Sorts the fields by name, case ignored; equal names keep their order.
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

    /// The fields sorted by name, case ignored.
    public func sorted() -> HTTPHeaders {
        var sorted = self
        sorted.sort()
        return sorted
    }

    /// The fields as a dictionary; repeated ones are joined as in ``value(for:)``.
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

    func isNamed(_ other: StaticString) -> Bool {
        guard name.utf8.count == other.utf8CodeUnitCount else { return false }
        var name = name
        return name.withUTF8 { bytes in
            asciiEqualsIgnoringCase(
                bytes,
                UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
        }
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    /// Fields in the order written; of equal names the last wins.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init()
        for (name, value) in elements { update(name: name, value: value) }
    }

    /// Fields in the order written; of equal names the last wins.
    public init(arrayLiteral elements: HTTPHeader...) {
        self.init(elements)
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The position of the first field.
    public var startIndex: Int { 0 }

    /// The position behind the last field.
    public var endIndex: Int { received?.count ?? own.count }

    /// The field at a position.
    public subscript(position: Int) -> HTTPHeader {
        guard let received else { return own[position] }
        let field = received.fields[position]
        return HTTPHeader(name: received.name(of: field), value: received.value(of: field))
    }
}

extension HTTPHeaders: Equatable, Hashable {
    /// Equal when the fields are, in order, names compared to the letter.
    public static func == (a: HTTPHeaders, b: HTTPHeaders) -> Bool { a.fields == b.fields }

    /// Hashes the fields in order.
    public func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}

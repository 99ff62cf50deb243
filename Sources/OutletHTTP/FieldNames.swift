/// A set of field names to search a header section for.
///
/// A 64-bit Bloom filter avoids most searches. The transport sets one bit for each field it
/// receives: the exclusive or of the name's length and its first letter in lower case, modulo 64.
/// If no bit of the wanted names is set, the section has none of them.
package struct FieldNames: Sendable, ExpressibleByArrayLiteral {
    let names: [StaticString]
    let marks: UInt64
    /// One bit for each first letter of the names, by its lowest five bits, which are the same in
    /// either case.
    private let initials: UInt32

    /// Makes a set of names, none of which may be empty.
    package init(arrayLiteral names: StaticString...) {
        self.names = names
        marks = names.reduce(0) { marks, name in
            marks | Self.mark(first: name.utf8Start.pointee, count: name.utf8CodeUnitCount)
        }
        initials = names.reduce(0) { $0 | 1 << UInt32($1.utf8Start.pointee & 31) }
    }

    /// Whether one of the names may begin with this letter, in either case.
    func mayBegin(with first: UInt8) -> Bool { initials >> UInt32(first & 31) & 1 != 0 }

    /// Whether the set has a name, compared case-insensitively.
    package func contains(_ name: String) -> Bool {
        guard let first = name.utf8.first,
            marks & Self.mark(first: first, count: name.utf8.count) != 0
        else { return false }
        var name = name
        return name.withUTF8 { bytes in
            names.contains { other in
                asciiEqualsIgnoringCase(
                    bytes,
                    UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
            }
        }
    }

    /// The bit of a name with this first letter and length.
    static func mark(first: UInt8, count: Int) -> UInt64 {
        1 << ((UInt64(count) ^ UInt64(first | 0x20)) & 63)
    }
}

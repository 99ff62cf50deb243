/// A set of field names to search a header section for.
///
/// A 64-bit Bloom filter avoids most searches. The transport sets one bit for each field it
/// receives: the exclusive or of the name's length and its first letter in lower case, modulo 64.
/// If no bit of the wanted names is set, the section has none of them.
package struct FieldNames: Sendable, ExpressibleByArrayLiteral {
    let names: [StaticString]
    let marks: UInt64

    /// Makes a set of names, none of which may be empty.
    package init(arrayLiteral names: StaticString...) {
        self.names = names
        marks = names.reduce(0) { marks, name in
            marks | Self.mark(first: name.utf8Start.pointee, count: name.utf8CodeUnitCount)
        }
    }

    /// The bit of a name with this first letter and length.
    static func mark(first: UInt8, count: Int) -> UInt64 {
        1 << ((UInt64(count) ^ UInt64(first | 0x20)) & 63)
    }
}

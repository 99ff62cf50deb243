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
            let first = UInt64(name.utf8Start.pointee | 0x20)
            return marks | 1 << ((UInt64(name.utf8CodeUnitCount) ^ first) & 63)
        }
    }
}

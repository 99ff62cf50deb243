/// Names of fields that are looked for together.
///
/// The collector of a header section sets one of 64 bits for each field: the length of its name,
/// combined with its first letter in lower case. Where no bit of the names looked for is set, none
/// of them is there, and nobody has to read the section again.
package struct FieldNames: Sendable, ExpressibleByArrayLiteral {
    let names: [StaticString]
    let marks: UInt64

    /// The names; none of them empty.
    package init(arrayLiteral names: StaticString...) {
        self.names = names
        marks = names.reduce(0) { marks, name in
            let first = UInt64(name.utf8Start.pointee | 0x20)
            return marks | 1 << ((UInt64(name.utf8CodeUnitCount) ^ first) & 63)
        }
    }
}

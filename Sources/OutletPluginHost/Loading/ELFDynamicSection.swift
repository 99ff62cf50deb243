/// The dynamic section of a library as the dynamic linker reads it, and the names that it refers to.
struct ELFDynamicSection {
    /// The tags of the entries that are read here or name other files.
    enum Tag: Int64 {
        case needed = 1
        case names = 5
        case symbols = 6
        case sizeOfNames = 10
        case oldRunPath = 15
        case runPath = 29
        case auxiliary = 0x7FFF_FFFD
        case filter = 0x7FFF_FFFF
    }

    /// The known entries, in order.
    private(set) var entries: [(tag: Tag, value: UInt64)] = []
    /// The string table (`DT_STRTAB`).
    private(set) var names: [UInt8] = []
    /// The offset in the file of the symbol table (`DT_SYMTAB`); `nil` without one.
    private(set) var symbolsOffset: UInt64?

    init(_ file: FileBytes, _ segments: ELFSegments) throws {
        let place = segments.offset(of: segments.dynamicAddress, count: segments.dynamicSize)
        guard let place else {
            throw ELFLibrary.Problem.invalid(
                reason: "its dynamic section lies outside of what is loaded: it is damaged")
        }
        let table = try file.read("the dynamic section", at: place, count: segments.dynamicSize)
        // The linker stops at this entry only, and does not know the size.
        var isEnded = false
        for base in stride(from: 0, through: table.count - 16, by: 16) {
            let tag = table.number(base, as: Int64.self)
            isEnded = tag == 0
            if isEnded { break }
            guard let tag = Tag(rawValue: tag) else { continue }
            entries.append((tag, table.number(base + 8, as: UInt64.self)))
        }
        guard isEnded else {
            throw ELFLibrary.Problem.invalid(
                reason: "its dynamic section has no end: it is damaged")
        }
        guard let address = last(.names), let size = last(.sizeOfNames),
            let offset = segments.offset(of: address, count: size)
        else {
            throw ELFLibrary.Problem.invalid(
                reason: "its table of names lies outside of what is loaded: it is damaged")
        }
        names = try file.read("the names", at: offset, count: size)
        symbolsOffset = last(.symbols).flatMap { segments.offset(of: $0, count: 0) }
    }

    /// The value of the last entry with a tag, which is the one that the linker uses.
    private func last(_ tag: Tag) -> UInt64? { entries.last { $0.tag == tag }?.value }
}

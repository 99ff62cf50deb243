/// A section of a library's file.
struct ELFSection {
    static let dynamicSymbols: UInt32 = 11
    static let withoutBytes: UInt32 = 8
    static let manifestName = ".outlet.manifest"

    let name: String
    let type: UInt32
    let offset: UInt64
    let size: UInt64

    /// All sections; checks that each lies inside the file.
    static func all(_ file: FileBytes, _ header: ELFHeader) throws -> [ELFSection] {
        let table = try file.read(
            "the section header table", at: header.sectionOffset,
            count: UInt64(header.sectionCount) * ELFHeader.sectionSize)
        let namesBase = Int(header.sectionNamesIndex) * Int(ELFHeader.sectionSize)
        guard header.sectionNamesIndex < header.sectionCount else {
            throw ELFLibrary.Problem.invalid(reason: "its section names are damaged")
        }
        let names = try file.read(
            "the section names", at: table.number(namesBase + 24, as: UInt64.self),
            count: table.number(namesBase + 32, as: UInt64.self))
        var sections: [ELFSection] = []
        for index in 0..<Int(header.sectionCount) {
            let base = index * Int(ELFHeader.sectionSize)
            let section = ELFSection(
                name: names.text(at: Int(table.number(base, as: UInt32.self))) ?? "",
                type: table.number(base + 4, as: UInt32.self),
                offset: table.number(base + 24, as: UInt64.self),
                size: table.number(base + 32, as: UInt64.self))
            let (end, overflow) = section.offset.addingReportingOverflow(section.size)
            guard
                section.type == withoutBytes || section.type == 0
                    || (!overflow && end <= file.size)
            else {
                throw ELFLibrary.Problem.invalid(
                    reason: "section \(section.name) lies outside the file's \(file.size) bytes: "
                        + "it is truncated or damaged")
            }
            sections.append(section)
        }
        return sections
    }
}

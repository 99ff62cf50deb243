import OutletHTTP

/// The contents of a shared library's headers, read without running any of its code.
///
/// `dlopen` trusts the file: a truncated one ends the process with SIGBUS, and one for another
/// machine is reported as missing. So the headers are checked here first (elf(5), gABI 4.1).
struct ELFLibrary {
    /// The major versions N of the `outlet_module_v<N>` functions that it exports, sorted.
    private(set) var entryMajors: [UInt32] = []
    /// The first 8 of the other symbols that it exports.
    private(set) var otherSymbols: [String] = []
    /// The number of other symbols that it exports.
    private(set) var otherSymbolCount = 0
    /// The libraries that it needs (`DT_NEEDED`, `DT_AUXILIARY`, `DT_FILTER`).
    private(set) var neededLibraries: [String] = []
    /// The directories in `DT_RUNPATH`, as written; `nil` without one.
    private(set) var runPath: [String]?
    /// The directories in `DT_RPATH`, which older linkers write; `nil` without one.
    private(set) var oldRunPath: [String]?
    /// The bytes of the manifest section; `nil` without one.
    private(set) var manifest: [UInt8]?

    private static let entryPrefix = "outlet_module_v"
    /// The type of the segment that says how stacks are mapped (`PT_GNU_STACK`).
    private static let stackSegment: UInt32 = 0x6474_E551

    /// The tags of the dynamic section that name other files.
    private enum DynamicEntry: Int64 {
        case needed = 1
        case oldRunPath = 15
        case runPath = 29
        case auxiliary = 0x7FFF_FFFD
        case filter = 0x7FFF_FFFF
    }

    /// Why a file cannot be loaded.
    enum Problem: Error {
        case invalid(reason: String)
        case wrongMachine(library: String, host: String)
        case manifest(reason: String)
        case unsafe(Objection)
        case notCopied(reason: String)

        /// Converts a problem of a dependency into one of the library that needs it.
        static func needed(_ path: String, _ problem: Problem) -> Problem {
            switch problem {
            case .unsafe, .notCopied: problem
            case .invalid(let reason), .manifest(let reason):
                .invalid(reason: "it needs \(path): \(reason)")
            case .wrongMachine(let library, let host):
                .invalid(reason: "it needs \(path), built for \(library), this host is \(host)")
            }
        }
    }

    /// Reads and checks the headers.
    init(_ file: FileBytes) throws(Problem) {
        do {
            try self.init(checking: file)
        } catch let problem as Problem {
            throw problem
        } catch let error as FileBytes.OutOfBounds {
            throw .invalid(reason: error.reason)
        } catch {
            throw .invalid(reason: String(describing: error))
        }
    }

    private init(checking file: FileBytes) throws {
        let header = try ELFHeader(file)
        try ELFLibrary.checkSegments(file, header)
        let sections = try ELFSection.all(file, header)
        try ELFLibrary.checkKinds(of: sections)
        for section in sections {
            switch section.type {
            case ELFSection.dynamicSymbols:
                try readSymbols(file, section, names: sections.strings(of: section, in: file))
            case ELFSection.dynamicEntries:
                try readDynamic(file, section, names: sections.strings(of: section, in: file))
            default:
                break
            }
            if section.name == ELFSection.manifestName {
                guard manifest == nil else {
                    throw Problem.manifest(reason: "there is more than one")
                }
                guard section.size <= PluginManifest.largestSize else {
                    throw Problem.manifest(
                        reason: "it has \(section.size) bytes, at most "
                            + "\(PluginManifest.largestSize) are allowed")
                }
                manifest = try file.read(
                    "the manifest", at: section.offset, count: section.size)
            }
        }
        entryMajors.sort()
    }

    /// Checks that there is at most one section of each kind that is read; a damaged file may have
    /// thousands, of the same bytes.
    private static func checkKinds(of sections: [ELFSection]) throws {
        for (type, name) in [
            (ELFSection.dynamicSymbols, "dynamic symbols"),
            (ELFSection.dynamicEntries, "dynamic entries"),
        ] {
            let count = sections.count { $0.type == type }
            guard count <= 1 else {
                throw Problem.invalid(
                    reason: "it has \(count) sections with \(name), of which there is only one: "
                        + "it is damaged")
            }
        }
    }

    /// Checks that all segments lie inside the file, that there is a dynamic segment, and that the
    /// library needs no executable stack.
    private static func checkSegments(_ file: FileBytes, _ header: ELFHeader) throws {
        let table = try file.read(
            "the program header table", at: header.segmentOffset,
            count: UInt64(header.segmentCount) * ELFHeader.segmentSize)
        var isDynamic = false
        // Without a segment about the stack, glibc makes stacks executable on x86 only.
        var needsExecutableStack = ELFHeader.hostMachine == ELFHeader.x86
        for index in 0..<Int(header.segmentCount) {
            let base = index * Int(ELFHeader.segmentSize)
            let type = table.number(base, as: UInt32.self)
            let offset = table.number(base + 8, as: UInt64.self)
            let fileSize = table.number(base + 32, as: UInt64.self)
            let memorySize = table.number(base + 40, as: UInt64.self)
            let (end, overflow) = offset.addingReportingOverflow(fileSize)
            guard !overflow, end <= file.size else {
                throw Problem.invalid(
                    reason: "segment \(index) ends at byte \(overflow ? .max : end), the file at "
                        + "byte \(file.size): it is truncated or damaged")
            }
            guard type != 1 || fileSize <= memorySize else {
                throw Problem.invalid(reason: "segment \(index) is larger in the file than loaded")
            }
            if type == 2 { isDynamic = true }
            if type == stackSegment {
                needsExecutableStack = table.number(base + 4, as: UInt32.self) & 1 != 0
            }
        }
        guard isDynamic else {
            throw Problem.invalid(reason: "it has no dynamic segment; link it with -shared")
        }
        guard !needsExecutableStack else {
            throw Problem.unsafe(
                Objection(
                    "needs an executable stack, so all stacks of the process would become "
                        + "executable; link it with -z noexecstack, without nested functions"))
        }
    }

    private mutating func readSymbols(
        _ file: FileBytes, _ section: ELFSection, names: [UInt8]
    ) throws {
        let table = try file.read(
            "the symbol table", at: section.offset, count: section.size)
        for base in stride(from: 0, through: table.count - 24, by: 24) {
            let info = table[base + 4]
            let isGlobal = info >> 4 == 1 || info >> 4 == 2
            let isDefined = table.number(base + 6, as: UInt16.self) != 0
            guard isGlobal, isDefined else { continue }
            let nameOffset = Int(table.number(base, as: UInt32.self))
            let isFunction = info & 15 == 2 || info & 15 == 10
            if isFunction, names.dropFirst(nameOffset).starts(with: ELFLibrary.entryPrefix.utf8),
                let name = names.text(at: nameOffset),
                let major = UInt32(name.dropFirst(ELFLibrary.entryPrefix.count))
            {
                entryMajors.append(major)
                continue
            }
            otherSymbolCount += 1
            // Only a few, as examples; a Swift library may have a hundred thousand.
            if otherSymbols.count < 8, let name = names.text(at: nameOffset) {
                otherSymbols.append(name)
            }
        }
    }

    private mutating func readDynamic(
        _ file: FileBytes, _ section: ELFSection, names: [UInt8]
    ) throws {
        let table = try file.read(
            "the dynamic section", at: section.offset, count: section.size)
        for base in stride(from: 0, through: table.count - 16, by: 16) {
            let tag = table.number(base, as: Int64.self)
            if tag == 0 { break }
            guard let entry = DynamicEntry(rawValue: tag) else { continue }
            guard let offset = Int(exactly: table.number(base + 8, as: UInt64.self)),
                let name = names.text(at: offset)
            else {
                throw Problem.invalid(reason: "the name of a needed library is damaged")
            }
            // The linker ignores an empty list, and treats an empty part as the current directory.
            let directories = name.isEmpty ? nil : name.parts(separatedBy: ":").map(String.init)
            switch entry {
            case .needed, .auxiliary, .filter: neededLibraries.append(name)
            case .runPath: runPath = directories
            case .oldRunPath: oldRunPath = directories
            }
        }
    }
}

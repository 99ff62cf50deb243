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
        let segments = try ELFSegments(file, header)
        guard !segments.needsExecutableStack else {
            throw Problem.unsafe(
                Objection(
                    "needs an executable stack, so all stacks of the process would become "
                        + "executable; link it with -z noexecstack, without nested functions"))
        }
        let dynamic = try ELFDynamicSection(file, segments)
        try readFileNames(dynamic)
        let sections = try ELFSection.all(file, header)
        try ELFLibrary.checkSymbols(of: sections, dynamic)
        for section in sections {
            if section.type == ELFSection.dynamicSymbols {
                try readSymbols(file, section, names: dynamic.names)
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

    /// Checks that there is at most one section of symbols, and that it is the table that the dynamic
    /// linker uses; a damaged file may have thousands, of the same bytes.
    private static func checkSymbols(
        of sections: [ELFSection], _ dynamic: ELFDynamicSection
    ) throws {
        let tables = sections.filter { $0.type == ELFSection.dynamicSymbols }
        guard tables.count <= 1 else {
            throw Problem.invalid(
                reason: "it has \(tables.count) sections with dynamic symbols, of which there is "
                    + "only one: it is damaged")
        }
        guard tables.allSatisfy({ $0.offset == dynamic.symbolsOffset }) else {
            throw Problem.invalid(
                reason: "its section with dynamic symbols is not the table that is loaded: it is "
                    + "damaged")
        }
    }

    /// The symbols that linkers add to a library whose author did not limit what it exports.
    private static let linkerSymbols = [
        "__bss_start", "__bss_end__", "__bss_start__", "__end__", "_bss_end__", "_edata", "_end",
        "_fini", "_init",
    ]

    /// Whether a text that begins with a name, and the byte 0 after it, is one of ``linkerSymbols``.
    private static func isOfLinker(_ text: ArraySlice<UInt8>) -> Bool {
        // Most of the symbols of a Swift library begin with '$'.
        guard text.first == UInt8(ascii: "_") else { return false }
        return linkerSymbols.contains { symbol in
            text.starts(with: symbol.utf8) && text.dropFirst(symbol.utf8.count).first == 0
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
            if ELFLibrary.isOfLinker(names.dropFirst(nameOffset)) { continue }
            otherSymbolCount += 1
            // Only a few, as examples; a Swift library may have a hundred thousand.
            if otherSymbols.count < 8, let name = names.text(at: nameOffset) {
                otherSymbols.append(name)
            }
        }
    }

    private mutating func readFileNames(_ dynamic: ELFDynamicSection) throws {
        for entry in dynamic.entries {
            switch entry.tag {
            case .names, .symbols, .sizeOfNames: continue
            case .needed, .auxiliary, .filter, .runPath, .oldRunPath: break
            }
            guard let offset = Int(exactly: entry.value), let name = dynamic.names.text(at: offset)
            else {
                throw Problem.invalid(reason: "the name of a needed library is damaged")
            }
            // The linker ignores an empty list, and treats an empty part as the current directory.
            let directories = name.isEmpty ? nil : name.parts(separatedBy: ":").map(String.init)
            switch entry.tag {
            case .needed, .auxiliary, .filter: neededLibraries.append(name)
            case .runPath: runPath = directories
            case .oldRunPath: oldRunPath = directories
            case .names, .symbols, .sizeOfNames: break
            }
        }
    }
}

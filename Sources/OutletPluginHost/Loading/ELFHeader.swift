/// The ELF header (the first 64 bytes) of a library's file, checked.
struct ELFHeader {
    /// The size of a program header, in bytes.
    static let segmentSize: UInt64 = 56
    /// The size of a section header, in bytes.
    static let sectionSize: UInt64 = 64

    /// The machine number of x86-64.
    static let x86: UInt16 = 62

    let segmentOffset: UInt64
    let segmentCount: UInt16
    let sectionOffset: UInt64
    let sectionCount: UInt16
    let sectionNamesIndex: UInt16

    init(_ file: FileBytes) throws {
        guard file.size > 0 else { throw ELFLibrary.Problem.invalid(reason: "the file is empty") }
        let magic = try file.read("the magic number", at: 0, count: min(4, file.size))
        guard magic == [0x7F, 0x45, 0x4C, 0x46] else {
            throw ELFLibrary.Problem.invalid(reason: "it is not an ELF file")
        }
        let bytes = try file.read("the ELF header", at: 0, count: 64)
        guard bytes[4] == 2 else {
            throw ELFLibrary.Problem.invalid(reason: "it is for 32 bits, this host is for 64")
        }
        guard bytes[5] == 1, bytes[6] == 1 else {
            throw ELFLibrary.Problem.invalid(
                reason: "it is big-endian or of an unknown ELF version")
        }
        // As the dynamic linker: System V or GNU, without anything in the bytes that are reserved.
        let (system, abi) = (bytes[7], bytes[8])
        guard system == 0 && abi == 0 || system == 3, bytes[9..<16].allSatisfy({ $0 == 0 }) else {
            throw ELFLibrary.Problem.invalid(
                reason:
                    "it is for another system than Linux (ABI \(system).\(abi)), or its ELF header "
                    + "is damaged")
        }
        let version = bytes.number(20, as: UInt32.self)
        guard version == 1 else {
            throw ELFLibrary.Problem.invalid(reason: "it is of the unknown ELF version \(version)")
        }
        let machine = bytes.number(18, as: UInt16.self)
        guard machine == ELFHeader.hostMachine else {
            throw ELFLibrary.Problem.wrongMachine(
                library: ELFHeader.name(ofMachine: machine),
                host: ELFHeader.name(ofMachine: ELFHeader.hostMachine))
        }
        let type = bytes.number(16, as: UInt16.self)
        guard type == 3 else {
            let kind = [1: "an object file", 2: "a program", 4: "a core dump"][type]
            throw ELFLibrary.Problem.invalid(
                reason: "it is \(kind ?? "of type \(type)"); link it with -shared")
        }
        segmentOffset = bytes.number(32, as: UInt64.self)
        sectionOffset = bytes.number(40, as: UInt64.self)
        segmentCount = bytes.number(56, as: UInt16.self)
        sectionCount = bytes.number(60, as: UInt16.self)
        sectionNamesIndex = bytes.number(62, as: UInt16.self)
        guard bytes.number(54, as: UInt16.self) == UInt16(ELFHeader.segmentSize),
            segmentCount > 0
        else {
            throw ELFLibrary.Problem.invalid(reason: "its program headers are damaged")
        }
        guard bytes.number(58, as: UInt16.self) == UInt16(ELFHeader.sectionSize),
            sectionCount > 0
        else {
            throw ELFLibrary.Problem.invalid(
                reason: "it has no section headers; strip it with --strip-unneeded at most")
        }
    }

    /// The ELF machine number of the processor that this host was compiled for; 0 if not supported.
    static var hostMachine: UInt16 {
        #if arch(x86_64)
            x86
        #elseif arch(arm64)
            183
        #else
            0
        #endif
    }

    /// The name of an ELF machine number.
    static func name(ofMachine machine: UInt16) -> String {
        let names: [UInt16: String] = [
            3: "x86 (32 bits)", 8: "MIPS", 20: "PowerPC", 21: "PowerPC64", 22: "s390x",
            40: "ARM (32 bits)", 62: "x86-64", 183: "aarch64", 243: "RISC-V", 258: "LoongArch",
        ]
        return names[machine] ?? "machine \(machine)"
    }
}

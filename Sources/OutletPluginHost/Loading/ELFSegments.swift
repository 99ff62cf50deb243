import Glibc

/// The segments of a library's file, from which the dynamic linker maps it.
///
/// The linker reads the program headers only, so the names of other files are read at the addresses
/// that these give. Section headers may state other places.
struct ELFSegments {
    /// A part of the file that is mapped (`PT_LOAD`).
    private struct Mapped {
        let address: UInt64
        let offset: UInt64
        let fileSize: UInt64
    }

    private static let loadType: UInt32 = 1
    private static let dynamicType: UInt32 = 2
    /// The type of the segment that says how stacks are mapped (`PT_GNU_STACK`).
    private static let stackType: UInt32 = 0x6474_E551

    private var mapped: [Mapped] = []
    /// The address of the dynamic section (`PT_DYNAMIC`).
    private(set) var dynamicAddress: UInt64 = 0
    /// The size of the dynamic section, in bytes.
    private(set) var dynamicSize: UInt64 = 0
    // Without a segment about the stack, glibc makes stacks executable on x86 only.
    /// Whether all stacks of the process would become executable.
    private(set) var needsExecutableStack = ELFHeader.hostMachine == ELFHeader.x86

    /// Reads the program headers.
    ///
    /// Checks that all segments lie inside the file, that there is one dynamic segment, and that no
    /// page is mapped twice.
    init(_ file: FileBytes, _ header: ELFHeader) throws {
        let table = try file.read(
            "the program header table", at: header.segmentOffset,
            count: UInt64(header.segmentCount) * ELFHeader.segmentSize)
        let pageSize = UInt64(max(1, sysconf(Int32(_SC_PAGESIZE))))
        var dynamicCount = 0
        /// The end of the pages that the segments before occupy.
        var mappedEnd: UInt64 = 0
        for index in 0..<Int(header.segmentCount) {
            let base = index * Int(ELFHeader.segmentSize)
            let type = table.number(base, as: UInt32.self)
            let offset = table.number(base + 8, as: UInt64.self)
            let address = table.number(base + 16, as: UInt64.self)
            let fileSize = table.number(base + 32, as: UInt64.self)
            let memorySize = table.number(base + 40, as: UInt64.self)
            let (end, overflow) = offset.addingReportingOverflow(fileSize)
            guard !overflow, end <= file.size else {
                throw ELFLibrary.Problem.invalid(
                    reason: "segment \(index) ends at byte \(overflow ? .max : end), the file at "
                        + "byte \(file.size): it is truncated or damaged")
            }
            switch type {
            case Self.loadType:
                guard fileSize <= memorySize else {
                    throw ELFLibrary.Problem.invalid(
                        reason: "segment \(index) is larger in the file than loaded")
                }
                // As the linker: whole pages, the later ones over the earlier ones.
                let (last, overflow) = address.addingReportingOverflow(memorySize)
                guard !overflow, last <= .max - pageSize, address % pageSize == offset % pageSize,
                    address - address % pageSize >= mappedEnd
                else {
                    throw ELFLibrary.Problem.invalid(
                        reason: "segment \(index) has an address that overlaps the segments "
                            + "before, or does not fit its place in the file")
                }
                mappedEnd = (last + pageSize - 1) / pageSize * pageSize
                mapped.append(Mapped(address: address, offset: offset, fileSize: fileSize))
            case Self.dynamicType:
                dynamicCount += 1
                (dynamicAddress, dynamicSize) = (address, fileSize)
            case Self.stackType:
                needsExecutableStack = table.number(base + 4, as: UInt32.self) & 1 != 0
            default:
                break
            }
        }
        guard dynamicCount > 0 else {
            throw ELFLibrary.Problem.invalid(
                reason: "it has no dynamic segment; link it with -shared")
        }
        guard dynamicCount == 1 else {
            throw ELFLibrary.Problem.invalid(
                reason: "it has \(dynamicCount) dynamic segments, of which there is only one: "
                    + "it is damaged")
        }
    }

    /// Returns the offset in the file of mapped bytes.
    ///
    /// - Parameters:
    ///   - address: The address of the first byte, relative to where the library is loaded.
    ///   - count: The number of bytes.
    /// - Returns: `nil` if not all bytes are mapped from one part of the file.
    func offset(of address: UInt64, count: UInt64) -> UInt64? {
        for part in mapped where address >= part.address {
            let distance = address - part.address
            if distance <= part.fileSize, count <= part.fileSize - distance {
                return part.offset + distance
            }
        }
        return nil
    }
}

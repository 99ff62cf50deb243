import FoundationEssentials
import Glibc
import OutletPluginHost
import OutletTestSupport
import Testing

/// Libraries whose headers contradict each other: what the dynamic linker uses decides.
@Suite struct HeaderLieTests {
    /// A library's bytes, to be changed.
    private struct Library {
        var bytes: [UInt8]

        init(_ path: String) throws { bytes = Array(try Data(contentsOf: URL(filePath: path))) }

        func number(_ offset: Int, _ size: Int = 8) -> Int {
            (0..<size).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
        }

        mutating func set(_ value: Int, at offset: Int, size: Int = 8) {
            for index in 0..<size { bytes[offset + index] = UInt8(value >> (8 * index) & 0xFF) }
        }

        /// The offsets of the program headers with a type.
        func segments(_ type: Int) -> [Int] {
            (0..<number(56, 2)).map { number(32) + 56 * $0 }.filter { number($0, 4) == type }
        }

        /// The offset of a section's header.
        func section(named name: String) -> Int? {
            let (table, size) = (number(40), number(58, 2))
            let names = number(table + size * number(62, 2) + 24)
            return (0..<number(60, 2)).map { table + size * $0 }.first {
                bytes[(names + number($0, 4))...].starts(with: Array(name.utf8) + [0])
            }
        }

        /// The offset of the first entry of the dynamic section with a tag.
        func entry(_ tag: Int) -> Int? {
            segments(2).first.flatMap { segment in
                let start = number(segment + 8)
                return stride(from: start, to: start + number(segment + 32), by: 16).first {
                    number($0) == tag
                }
            }
        }

        /// Moves the section with the dynamic entries to a copy that has none with the tags.
        mutating func hide(_ tags: Set<Int>) throws {
            let header = try #require(section(named: ".dynamic"))
            let (start, size) = (number(header + 24), number(header + 32))
            let kept = stride(from: start, to: start + size, by: 16)
                .filter { !tags.contains(number($0)) }.flatMap { bytes[$0..<$0 + 16] }
            set(bytes.count, at: header + 24)
            set(kept.count, at: header + 32)
            bytes += kept
        }
    }

    private static let plugin = """
        static const outlet_descriptor descriptor = {DESCRIPTOR("some.plugin")};
        OUTLET_MODULE(descriptor)
        """

    private func failures(in folder: PluginFolder) throws -> [String] {
        let host = try folder.load()
        #expect(host.plugins.isEmpty)
        return host.failures.map { String($0.description.dropFirst($0.path.count + 2)) }
    }

    @Test func `a run path that the section headers hide is found`() async throws {
        let folder = try PluginFolder()
        let open = folder.directory.path("open")
        mkdir(open, 0o755)
        chmod(open, 0o777)
        try await folder.compile(Self.plugin, as: "x.so", "-Wl,-rpath,\(open)")
        var library = try Library(folder.directory.path("x.so"))
        try library.hide([15, 29])
        chmod(try folder.directory.write(library.bytes, to: "x.so"), 0o755)
        #expect(
            try failures(in: folder) == [
                #"not safe to load: it looks for libraries in "\#(open)" (DT_RUNPATH): \#(open) is "#
                    + "writable by all users (mode 777); chmod go-w"
            ])
    }

    @Test func `a needed library that the section headers hide is found`() async throws {
        let folder = try PluginFolder()
        let open = folder.directory.path("open")
        mkdir(open, 0o755)
        try await folder.compile("", as: "open/needed")
        try await folder.compile(
            Self.plugin, as: "x.so", "-Wl,--no-as-needed", "\(open)/needed")
        chmod(open, 0o777)
        var library = try Library(folder.directory.path("x.so"))
        try library.hide([1])
        chmod(try folder.directory.write(library.bytes, to: "x.so"), 0o755)
        #expect(
            try failures(in: folder) == [
                #"not safe to load: it needs "\#(open)/needed": \#(open) is writable by all users "#
                    + "(mode 777); chmod go-w"
            ])
    }

    /// A contradiction in a library's headers.
    enum Lie: CaseIterable {
        case secondDynamicSegment
        case dynamicSegmentOutside
        case dynamicSegmentWithoutEnd
        case namesOutside
        case namesBeyondTheirSegment
        case otherSymbols
        case segmentOverAnother
        case segmentAtOtherAddress

        /// The part of the error that says what is wrong.
        var fact: String {
            switch self {
            case .secondDynamicSegment: "it has 2 dynamic segments, of which there is only one"
            case .dynamicSegmentOutside: "its dynamic section lies outside of what is loaded"
            case .dynamicSegmentWithoutEnd: "its dynamic section has no end"
            case .namesOutside, .namesBeyondTheirSegment:
                "its table of names lies outside of what is loaded"
            case .otherSymbols: "its section with dynamic symbols is not the table that is loaded"
            case .segmentOverAnother, .segmentAtOtherAddress:
                "has an address that overlaps the segments before, or does not fit its place"
            }
        }
    }

    @Test(arguments: Lie.allCases)
    func `a library whose headers contradict what is loaded is refused`(lie: Lie) throws {
        var library = try Library(Products.path("librequest-id.so"))
        let dynamic = try #require(library.segments(2).first)
        let loaded = library.segments(1)
        let last = try #require(loaded.last)
        switch lie {
        case .secondDynamicSegment:
            let other = try #require(library.segments(4).first)
            let header = library.bytes[dynamic..<dynamic + 56]
            library.bytes.replaceSubrange(other..<other + 56, with: header)
        case .dynamicSegmentOutside:
            // Behind the last segment's part of the file, where the offset still is right.
            library.set(library.number(last + 16) + 0x1000_0000, at: dynamic + 16)
        case .dynamicSegmentWithoutEnd:
            let end = try #require(library.entry(0)) - library.number(dynamic + 8)
            library.set(end, at: dynamic + 32)
        case .namesOutside:
            library.set(0x1000_0000, at: try #require(library.entry(5)) + 8)
        case .namesBeyondTheirSegment:
            library.set(library.bytes.count, at: try #require(library.entry(10)) + 8)
        case .otherSymbols:
            let entry = try #require(library.entry(6))
            library.set(library.number(entry + 8) + 24, at: entry + 8)
        case .segmentOverAnother:
            let address = library.number(loaded[0] + 16) + library.number(last + 16) % 4096
            library.set(address, at: last + 16)
        case .segmentAtOtherAddress:
            library.set(library.number(last + 16) + 16, at: last + 16)
        }
        let folder = try PluginFolder()
        chmod(try folder.directory.write(library.bytes, to: "x.so"), 0o755)
        let failure = try #require(try failures(in: folder).first)
        #expect(failure.hasPrefix("not a usable shared library: "))
        #expect(failure.contains(lie.fact), "\(failure)")
    }
}

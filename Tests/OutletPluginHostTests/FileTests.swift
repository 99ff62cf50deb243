import FoundationEssentials
import Glibc
import OutletPluginHost
import OutletTestSupport
import Testing

@Suite struct FileTests {
    private func failures(in folder: PluginFolder) throws -> [String] {
        let host = try folder.load()
        #expect(host.plugins.isEmpty)
        return host.failures.map { String($0.description.dropFirst($0.path.count + 2)) }
    }

    @Test func `a library truncated at any length is an error, not a crash`() throws {
        let whole = try Data(contentsOf: URL(filePath: Products.path("librequest-id.so")))
        let folder = try PluginFolder()
        for part in 0..<64 {
            let length = whole.count * part / 64
            let path = try folder.directory.write(Array(whole.prefix(length)), to: "cut.so")
            chmod(path, 0o755)
            let failures = try failures(in: folder)
            #expect(failures.count == 1, "at \(length) of \(whole.count) bytes")
            let isNamed = failures.allSatisfy {
                $0.hasPrefix("not a usable shared library: ")
            }
            #expect(isNamed, "\(failures)")
        }
    }

    @Test func `a library without its last byte is an error`() throws {
        let whole = try Data(contentsOf: URL(filePath: Products.path("librequest-id.so")))
        let folder = try PluginFolder()
        chmod(try folder.directory.write(Array(whole.dropLast()), to: "cut.so"), 0o755)
        let failure = try #require(try failures(in: folder).first)
        #expect(failure.contains("the section header table ends at byte \(whole.count)"))
    }

    @Test(
        arguments: [
            ([], "not a usable shared library: the file is empty"),
            (Array("garbage".utf8), "not a usable shared library: it is not an ELF file"),
            ([0x7F, 0x45], "not a usable shared library: it is not an ELF file"),
            (
                [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1],
                "not a usable shared library: the ELF header ends at byte 64, the file at byte 7: it "
                    + "is truncated or damaged"
            ),
        ] as [([UInt8], String)])
    func `a file that is not a library is an error`(content: [UInt8], error: String) throws {
        let folder = try PluginFolder()
        chmod(try folder.directory.write(content, to: "x.so"), 0o755)
        #expect(try failures(in: folder) == [error])
    }

    @Test(arguments: [
        (18, 183, "built for another machine: aarch64, this host is x86-64"),
        (18, 3, "built for another machine: x86 (32 bits), this host is x86-64"),
        (4, 1, "not a usable shared library: it is for 32 bits, this host is for 64"),
        (16, 2, "not a usable shared library: it is a program; link it with -shared"),
        (16, 1, "not a usable shared library: it is an object file; link it with -shared"),
        (5, 2, "not a usable shared library: it is big-endian or of an unknown ELF version"),
        (20, 2, "not a usable shared library: it is of the unknown ELF version 2"),
        (
            7, 9,
            "not a usable shared library: it is for another system than Linux (ABI 9.0), or its ELF "
                + "header is damaged"
        ),
        (
            12, 1,
            "not a usable shared library: it is for another system than Linux (ABI 0.0), or its ELF "
                + "header is damaged"
        ),
    ])
    func `the error for a library of another kind names the kind`(
        offset: Int, byte: UInt8, error: String
    ) throws {
        var bytes = Array(try Data(contentsOf: URL(filePath: Products.path("librequest-id.so"))))
        bytes[offset] = byte
        let folder = try PluginFolder()
        chmod(try folder.directory.write(bytes, to: "x.so"), 0o755)
        #if arch(x86_64)
            #expect(try failures(in: folder) == [error])
        #else
            #expect(try failures(in: folder).count == 1)
        #endif
    }

    @Test(arguments: [
        // Offsets in the program header: of the size in memory, and of the offset in the file.
        (40, 0, "is larger in the file than loaded"), (8, 0x40, "ends at byte "),
    ])
    func `a segment with impossible sizes or offsets is an error`(
        field: Int, value: UInt8, fact: String
    ) throws {
        var bytes = Array(try Data(contentsOf: URL(filePath: Products.path("librequest-id.so"))))
        let (table, size) = (Int(bytes[32]), Int(bytes[54]))
        let isLoaded: (Int) -> Bool = { bytes[table + size * $0] == 1 }
        let segment = try #require((0..<Int(bytes[56])).first(where: isLoaded))
        let place = table + size * segment + field
        for index in place..<place + 8 { bytes[index] = index < place + 7 ? 0 : value }
        let folder = try PluginFolder()
        chmod(try folder.directory.write(bytes, to: "x.so"), 0o755)
        let failure = try #require(try failures(in: folder).first)
        #expect(failure.hasPrefix("not a usable shared library: segment \(segment) \(fact)"))
    }

    @Test func `a library with two sections of dynamic symbols is refused`() throws {
        var bytes = Array(try Data(contentsOf: URL(filePath: Products.path("librequest-id.so"))))
        let table = (0..<8).reduce(0) { $0 | Int(bytes[40 + $1]) << (8 * $1) }
        let count = Int(bytes[60]) | Int(bytes[61]) << 8
        // The type of a section is in bytes 4 to 7 of its header; 1 is that of code and data.
        let other = try #require((0..<count).last { bytes[table + 64 * $0 + 4] == 1 })
        bytes[table + 64 * other + 4] = 11
        let folder = try PluginFolder()
        chmod(try folder.directory.write(bytes, to: "x.so"), 0o755)
        #expect(
            try failures(in: folder) == [
                "not a usable shared library: it has 2 sections with dynamic symbols, of which there "
                    + "is only one: it is damaged"
            ])
    }

    @Test(arguments: [true, false])
    func `a library that needs an executable stack is refused`(isMarked: Bool) throws {
        var bytes = Array(try Data(contentsOf: URL(filePath: Products.path("librequest-id.so"))))
        let (table, size) = (Int(bytes[32]), Int(bytes[54]))
        let isStack: (Int) -> Bool = {
            Array(bytes[table + size * $0..<table + size * $0 + 4]) == [0x51, 0xE5, 0x74, 0x64]
        }
        let segment = table + size * (try #require((0..<Int(bytes[56])).first(where: isStack)))
        // PF_X is set, or the segment is not there.
        bytes[segment + (isMarked ? 4 : 0)] |= isMarked ? 1 : 2
        let folder = try PluginFolder()
        chmod(try folder.directory.write(bytes, to: "x.so"), 0o755)
        let failure = try #require(try failures(in: folder).first)
        let isRefused = failure.hasPrefix("not safe to load: it needs an executable stack")
        #if arch(x86_64)
            #expect(isRefused)
        #else
            #expect(isRefused == isMarked)
        #endif
    }

    @Test func `a library with two manifests is refused`() throws {
        var bytes = Array(try Data(contentsOf: URL(filePath: Products.path("librequest-id.so"))))
        func number(_ offset: Int, _ size: Int) -> Int {
            (0..<size).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
        }
        let (table, size, count) = (number(40, 8), number(58, 2), number(60, 2))
        let names = number(table + size * number(62, 2) + 24, 8)
        func section(named name: String) -> Int? {
            (0..<count).map { table + size * $0 }.first {
                bytes[(names + number($0, 4))...].starts(with: Array(name.utf8) + [0])
            }
        }
        let manifest = try #require(section(named: ".outlet.manifest"))
        let other = try #require(section(named: ".comment"))
        bytes.replaceSubrange(other..<other + size, with: bytes[manifest..<manifest + size])
        let folder = try PluginFolder()
        chmod(try folder.directory.write(bytes, to: "x.so"), 0o755)
        #expect(try failures(in: folder) == ["manifest is wrong: there is more than one"])
    }

    @Test func `damage in any field of the ELF header is an error`() throws {
        let whole = Array(try Data(contentsOf: URL(filePath: Products.path("librequest-id.so"))))
        let folder = try PluginFolder()
        // Sets each offset and count of the ELF header in turn to its largest value.
        for (offset, length) in [(32, 8), (40, 8), (54, 2), (56, 2), (58, 2), (60, 2), (62, 2)] {
            var bytes = whole
            for index in offset..<offset + length { bytes[index] = 0xFF }
            chmod(try folder.directory.write(bytes, to: "x.so"), 0o755)
            #expect(try failures(in: folder).count == 1, "at \(offset)")
        }
    }

    private static let plugin = """
        static const outlet_descriptor descriptor = {DESCRIPTOR("some.plugin")};
        OUTLET_MODULE(descriptor)
        """

    @Test(arguments: [
        ("$ORIGIN:", #""" (DT_RUNPATH), which is the current directory"#),
        ("/usr/lib::$ORIGIN", #""" (DT_RUNPATH), which is the current directory"#),
        ("lib", #""lib" (DT_RUNPATH), which is relative to the current directory"#),
        ("/usr/$LIB", #""/usr/$LIB" (DT_RUNPATH), of which only $ORIGIN is understood"#),
        (
            "$ORIGIN/open",
            #""$ORIGIN/open" (DT_RUNPATH): DIR/open is writable by all users (mode 777); chmod go-w"#
        ),
        (
            "/:${ORIGIN}/open/missing",
            #""${ORIGIN}/open/missing" (DT_RUNPATH): DIR/open/missing is missing, and DIR/open is "#
                + "writable by all users (mode 777); chmod go-w"
        ),
        (
            "$ORIGIN/link/inner/../inner",
            #""$ORIGIN/link/inner/../inner" (DT_RUNPATH): DIR/open is writable by all users "#
                + "(mode 777); chmod go-w"
        ),
        (
            "$ORIGIN/loop",
            #""$ORIGIN/loop" (DT_RUNPATH): DIR/loop is a symbolic link that leads nowhere"#
        ),
    ])
    func `a library with a run path that others can write to is refused`(
        runPath: String, reason: String
    ) async throws {
        let folder = try PluginFolder()
        mkdir(folder.directory.path("open"), 0o755)
        mkdir(folder.directory.path("open/inner"), 0o755)
        chmod(folder.directory.path("open"), 0o777)
        symlink("open", folder.directory.path("link"))
        symlink("loop", folder.directory.path("loop"))
        try await folder.compile(Self.plugin, as: "x.so", "-Wl,-rpath,\(runPath)")
        let text = reason.replacing("DIR", with: folder.path)
        #expect(try failures(in: folder) == ["not safe to load: it looks for libraries in \(text)"])
        if !runPath.contains("/") {
            try await folder.compile(
                Self.plugin, as: "x.so", "-Wl,--disable-new-dtags,-rpath,\(runPath)")
            let old = text.replacing("DT_RUNPATH", with: "DT_RPATH")
            #expect(
                try failures(in: folder) == ["not safe to load: it looks for libraries in \(old)"])
        }
        var options = PluginHost.Options()
        options.checksOwnership = false
        let host = try PluginHost.load(directories: [folder.path], options: options)
        #expect(host.plugins.count == 1)
    }

    @Test(.enabled(if: geteuid() == 0, "root may give files away"))
    func `a library with a run path through another user's link is refused`()
        async throws
    {
        let folder = try PluginFolder()
        let link = folder.directory.path("link")
        symlink("/usr/lib", link)
        try await folder.compile(Self.plugin, as: "x.so", "-Wl,-rpath,$ORIGIN/link")
        #expect(try folder.load().failures == [])
        lchown(link, 77, 77)
        #expect(
            try failures(in: folder) == [
                #"not safe to load: it looks for libraries in "$ORIGIN/link" (DT_RUNPATH): \#(link) "#
                    + "belongs to user 77, neither root nor user 0"
            ])
    }

    @Test func `a library with a safe run path is loaded`() async throws {
        let folder = try PluginFolder()
        mkdir(folder.directory.path("$inner"), 0o755)
        symlink("$inner", folder.directory.path("link"))
        let safe = "$ORIGIN:${ORIGIN}/link:/usr/lib:/lib:/nowhere/lib"
        try await folder.compile(Self.plugin, as: "x.so", "-Wl,-rpath,\(safe)")
        try await folder.compile(
            Self.plugin.replacing("some", with: "other"), as: "$inner/y.so",
            "-Wl,-rpath,$ORIGIN/.")
        let host = try PluginHost.load(
            directories: [folder.path, folder.directory.path("$inner")])
        #expect(host.plugins.map(\.id) == ["some.plugin", "other.plugin"])
    }

    @Test func `a library that needs one at a relative or writable path is refused`()
        async throws
    {
        let folder = try PluginFolder()
        mkdir(folder.directory.path("open"), 0o755)
        try await folder.compile("", as: "open/needed")
        try await folder.compile(
            Self.plugin, as: "x.so", "-Wl,--no-as-needed", "open/needed")
        #expect(
            try failures(in: folder) == [
                #"not safe to load: it needs "open/needed", which is relative to the current directory"#
            ])
        try await folder.compile(
            Self.plugin, as: "x.so", "-Wl,--no-as-needed", folder.directory.path("open/needed"))
        chmod(folder.directory.path("open"), 0o777)
        let place = folder.directory.path("open")
        #expect(
            try failures(in: folder) == [
                #"not safe to load: it needs "\#(place)/needed": \#(place) is writable by all users "#
                    + "(mode 777); chmod go-w"
            ])
    }

    @Test func `the error for a missing needed library names it`() throws {
        var bytes = Array(try Data(contentsOf: URL(filePath: Products.path("librequest-id.so"))))
        let name = Array("libc.so.6".utf8)
        let place = try #require(
            bytes.indices.first { bytes[$0...].starts(with: name) })
        bytes[place + 3] = UInt8(ascii: "q")
        let folder = try PluginFolder()
        chmod(try folder.directory.write(bytes, to: "x.so"), 0o755)
        #expect(
            try failures(in: folder) == [
                "cannot be loaded: libq.so.6: cannot open shared object file: No such file or "
                    + "directory; install the package that holds libq.so.6"
            ])
    }

    @Test func `directories, FIFOs, links and sockets named like plugins are errors`() throws {
        let folder = try PluginFolder()
        mkdir(folder.directory.path("a.so"), 0o755)
        mkfifo(folder.directory.path("b.so"), 0o600)
        symlink("nowhere", folder.directory.path("c.so"))
        symlink(try Products.path("librequest-id.so"), folder.directory.path("d.so"))
        mknod(folder.directory.path("e.so"), S_IFSOCK | 0o600, 0)
        #expect(
            try failures(in: folder) == [
                "not a regular file: it is a directory", "not a regular file: it is a FIFO",
                "not a regular file: it is a symbolic link; copy the file instead",
                "not a regular file: it is a symbolic link; copy the file instead",
                "not a regular file: it is a socket",
            ])
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func `a file that cannot be read is an error`() throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        chmod(folder.directory.path("librequest-id.so"), 0)
        #expect(try failures(in: folder) == ["cannot be read: Permission denied"])
    }

    @Test func `a file that others can write is refused`() throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        chmod(folder.directory.path("librequest-id.so"), 0o666)
        #expect(
            try failures(in: folder) == [
                "not safe to load: it is writable by all users (mode 666); chmod go-w"
            ])
    }

    @Test func `a directory that others can write is refused`() throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        chmod(folder.path, 0o770)
        #expect(
            throws: PluginDirectoryError.unsafe(
                path: folder.path,
                reason: "\(folder.path) is writable by its group (mode 770); chmod go-w")
        ) { try folder.load() }
    }

    @Test func `a directory that all users can write is refused, even with the sticky bit`() throws
    {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        chmod(folder.path, 0o1777)
        #expect(
            throws: PluginDirectoryError.unsafe(
                path: folder.path,
                reason: "\(folder.path) is writable by all users (mode 1777); chmod go-w")
        ) { try folder.load() }
    }

    @Test func `a link to a directory is refused if others can exchange it`() throws {
        let folder = try PluginFolder()
        for name in ["open", "plugins"] { mkdir(folder.directory.path(name), 0o755) }
        let link = folder.directory.path("open/link")
        try #require(symlink("../plugins", link) == 0)
        _ = try PluginHost.load(directory: link)
        chmod(folder.directory.path("open"), 0o777)
        let reason =
            "\(folder.directory.path("open")) is writable by all users (mode 777); chmod go-w"
        #expect(throws: PluginDirectoryError.unsafe(path: link, reason: reason)) {
            try PluginHost.load(directory: link)
        }
        // A directory like /tmp, in which users can exchange only their own entries.
        chmod(folder.directory.path("open"), 0o1777)
        _ = try PluginHost.load(directory: link)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a link to another user"))
    func `a link of another user to a directory is refused`() throws {
        let folder = try PluginFolder()
        let (inner, link) = (folder.directory.path("plugins"), folder.directory.path("link"))
        mkdir(inner, 0o755)
        try #require(symlink("plugins", link) == 0 && lchown(link, 65_534, 65_534) == 0)
        #expect(
            throws: PluginDirectoryError.unsafe(
                path: link, reason: "\(link) belongs to user 65534, neither root nor user 0")
        ) { try PluginHost.load(directory: link) }
    }

    @Test func `a parent directory is checked when a name begins with a combining mark`() throws {
        let folder = try PluginFolder()
        let inner = folder.directory.path("\u{301}inner")
        mkdir(inner, 0o755)
        _ = try PluginHost.load(directory: inner)
        chmod(folder.path, 0o777)
        #expect(throws: PluginDirectoryError.self) { try PluginHost.load(directory: inner) }
    }

    @Test func `a directory inside one that others can write is refused`() throws {
        let folder = try PluginFolder()
        let inner = folder.directory.path("inner")
        mkdir(inner, 0o755)
        chmod(folder.path, 0o777)
        #expect(throws: PluginDirectoryError.self) {
            try PluginHost.load(directory: inner)
        }
    }

    @Test func `the error for a missing or invalid directory has the reason`() throws {
        let folder = try PluginFolder()
        let missing = folder.directory.path("missing")
        #expect(
            throws: PluginDirectoryError.unreadable(
                path: missing, reason: "No such file or directory")
        ) { try PluginHost.load(directory: missing) }
        let file = try folder.directory.write("", to: "file")
        #expect(
            throws: PluginDirectoryError.unreadable(path: file, reason: "Not a directory")
        ) { try PluginHost.load(directory: file) }
    }

    @Test func `a file name that is not UTF-8 is refused, and the error escapes its bytes`() throws
    {
        let folder = try PluginFolder()
        let path = Array("\(folder.path)/caf".utf8) + [0xE9] + Array(".so".utf8) + [0]
        let name = path.map { CChar(bitPattern: $0) }
        let descriptor = name.withUnsafeBufferPointer {
            $0.baseAddress.map { open($0, O_CREAT | O_WRONLY, 0o644) } ?? -1
        }
        #expect(descriptor >= 0)
        close(descriptor)
        defer { _ = name.withUnsafeBufferPointer { $0.baseAddress.map { unlink($0) } } }
        let failures = try folder.load().failures
        #expect(
            failures == [
                .unreadable(path: "\(folder.path)/caf\\xE9.so", reason: "its name is not UTF-8")
            ])
    }

    @Test func `hidden files and files without the suffix .so are ignored`() throws {
        let folder = try PluginFolder()
        for name in ["README", "x.so.1", ".hidden.so", "so"] {
            try folder.directory.write("garbage", to: name)
        }
        let host = try folder.load()
        #expect(host.plugins.isEmpty && host.failures.isEmpty)
    }

    @Test func `the search path is OUTLET_PLUGIN_PATH, or the user's and system directories`() {
        #expect(
            PluginSearchPath.directories(environment: ["OUTLET_PLUGIN_PATH": "/a:b:/c"])
                == ["/a", "/c"])
        #expect(
            PluginSearchPath.directories(environment: ["HOME": "/home/u"]) == [
                "/home/u/.local/share/outlet/plugins", "/usr/local/lib/outlet/plugins",
                "/usr/lib/outlet/plugins",
            ])
        #expect(
            PluginSearchPath.directories(environment: ["XDG_DATA_HOME": "data"]) == [
                "/usr/local/lib/outlet/plugins", "/usr/lib/outlet/plugins",
            ])
    }
}

import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

@testable import OutletCLI

/// The command `outlet plugins new`, and the files that it writes.
@Suite(.timeLimit(.minutes(patience * 12))) struct PluginProjectTests {
    private let folder: TemporaryDirectory
    private let sdk: String

    init() throws {
        folder = try TemporaryDirectory()
        let root = #filePath.dropLast("/Tests/OutletCLITests/PluginProjectTests.swift".count)
        sdk = "\(root)/PluginsSDK"
    }

    private let inheritedPath = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"

    private func new(
        _ arguments: String..., environment: [String: String] = ["OUTLET_SDK": ""]
    ) async throws -> Program.Result {
        try await Program.run(
            Products.path("outlet"), ["plugins", "new"] + arguments, environment: environment,
            directory: folder.path)
    }

    /// Runs a command line in the folder, with the program in `PATH`.
    private func shell(_ command: String) async throws -> Program.Result {
        let program = try Products.path("outlet")
        let path = "\(program.dropLast("/outlet".count)):\(inheritedPath)"
        return try await Program.run(
            "/bin/sh", ["-c", command],
            environment: ["HOME": folder.path, "OUTLET_SDK": "", "PATH": path],
            directory: folder.path, deadline: .seconds(600 * patience))
    }

    @Test func `a new C plugin passes its test, and stops at a breakpoint`() async throws {
        let made = try await new("--lang=c", "--directory=of mine/my-stamp", "com.example.my-stamp")
        #expect(made.exitCode == 0)
        let lines = made.output.split(separator: "\n")
        #expect(lines.first == "wrote of mine/my-stamp: com.example.my-stamp")
        let next = try #require(lines.last)
        #expect(
            next.hasPrefix(
                "next: cd 'of mine/my-stamp' && make test OUTLET_SDK=\(ShellWord.quoted(sdk)) OUTLET="
            ))
        // Options may be at any position; the timeout is long enough for a busy machine.
        let tested = try await shell(
            "umask 002 && \(next.dropFirst("next: ".count)) CFLAGS='-g -Wall -Wextra -Werror' "
                + "OUTLET='\(try Products.path("outlet")) --timeout=\(120 * patience)'")
        #expect(tested.exitCode == 0, "\(tested.output)\(tested.errorOutput)")
        #expect(tested.output.contains(" passed, 0 failed, "))
        #expect(!tested.output.contains("warning, "))

        // The settings and the command for a debugger in the project's README.
        let readme = String(decoding: try folder.read("of mine/my-stamp/README.md"), as: UTF8.self)
        let blocks = readme.split(separator: "```")
        let settings = try #require(blocks.first { $0.hasPrefix("json\n") }?.dropFirst(5))
        try folder.write(String(settings), to: "plugins/plugins.json")
        let configured = try await shell(
            "cp 'of mine/my-stamp/my-stamp.so' plugins && "
                + "outlet plugins config --run --plugins plugins")
        #expect(configured.exitCode == 0, "\(configured.errorOutput)")
        #expect(configured.output.contains("com.example.my-stamp"))
        let command = try #require(blocks.first { $0.hasPrefix("sh\ngdb ") }?.dropFirst(3))
        let server = try LoopbackServer.start()
        let debugged = try await shell(
            "cd 'of mine/my-stamp' && "
                + command.replacing("gdb ", with: "gdb -q -batch ")
                .replacing("-ex run", with: "-ex run -ex 'print *instance' -ex continue")
                .replacing("http://127.0.0.1:8080", with: server.baseURL))
        let text = debugged.output
        #expect(text.contains(" hit Breakpoint 1, prepare (instance="), "\(text)")
        #expect(text.contains(#"header = "X-Stamp""#) && text.contains(server.baseURL), "\(text)")
    }

    @Test func `the command that tests a plugin may name a program with a space in its path`()
        async throws
    {
        let copied = try await shell(
            "mkdir 'my bin' && cp \"$(command -v outlet)\" 'my bin'")
        #expect(copied.exitCode == 0, "\(copied.errorOutput)")
        let own = try await Program.run(
            folder.path("my bin/outlet"), ["plugins", "new", "--lang=c", "stamp"],
            environment: ["OUTLET_SDK": sdk], directory: folder.path)
        let line = try #require(own.output.split(separator: "\n").last).dropFirst("next: ".count)
        let shown = try await shell("\(line) -n OUTLET_SDK=\(ShellWord.quoted(sdk))")
        #expect(
            shown.output.hasSuffix(
                "'\(folder.path("my bin/outlet"))' plugins check ./stamp.so\n"),
            "\(shown.output)\(shown.errorOutput)")
    }

    @Test func `the command that tests a plugin has no variables that are set`() async throws {
        let program = try Products.path("outlet")
        let folder = program.dropLast("/outlet".count)
        let made = try await new(
            "--lang=swift", "stamp", environment: ["OUTLET_SDK": sdk, "PATH": "/bin:\(folder)"])
        #expect(made.output.hasSuffix("next: cd stamp && make test\n"))
    }

    @Test func `the configuration of a new C plugin is checked before it starts`() async throws {
        #expect(try await new("--lang=c", "stamp").exitCode == 0)
        let built = try await shell("make -C stamp OUTLET_SDK=\(ShellWord.quoted(sdk))")
        #expect(built.exitCode == 0, "\(built.errorOutput)")
        for header in ["", String(repeating: "a", count: 64)] {
            let result = try await shell(
                "outlet --plugins stamp/stamp.so --plugin-config 'com.example.stamp={\"header\": "
                    + "\"\(header)\"}' http://127.0.0.1:9/")
            #expect(result.exitCode == 7)
            #expect(result.errorOutput.contains("/header: "), "\(result.errorOutput)")
        }
    }

    @Test func `a plugin is built with an installed SDK, by make and by the README's CMake file`()
        async throws
    {
        #expect(try await new("--lang=c", "stamp").exitCode == 0)
        let readme = try String(contentsOf: URL(filePath: "\(sdk)/README.md"), encoding: .utf8)
        let block = try #require(
            readme.split(separator: "```").first { $0.hasPrefix("cmake\n") }?.dropFirst(6))
        try folder.write(String(block), to: "stamp/CMakeLists.txt")
        let built = try await shell(
            "make -s -C \(ShellWord.quoted(sdk)) install PREFIX=\(folder.path("installed")) && "
                + "export PKG_CONFIG_PATH=\(folder.path("installed/share/pkgconfig")) && cd stamp && "
                + "make && cmake -S . -B build && cmake --build build")
        #expect(built.exitCode == 0, "\(built.output)\(built.errorOutput)")
        for file in ["stamp.so", "build/stamp.so"] {
            let checked = try await shell("outlet plugins check --only load stamp/\(file)")
            #expect(checked.output.contains("1 passed, 0 failed"), "\(checked.errorOutput)")
        }
    }

    @Test func `without an SDK the Makefile fails with instructions`() async throws {
        #expect(try await new("--lang=c", "stamp").exitCode == 0)
        let built = try await shell("PKG_CONFIG_LIBDIR=. make -C stamp")
        #expect(built.exitCode == 2)
        #expect(built.errorOutput.contains("no SDK: install outlet-plugin.pc, or set OUTLET_SDK"))
        #expect(try await new("--lang=swift", "seal").exitCode == 0)
        let other = try await shell("make -C seal")
        #expect(other.exitCode == 2)
        #expect(other.errorOutput.contains("no SDK: set OUTLET_SDK to the folder PluginsSDK"))
    }

    @Test func `a new Swift plugin passes its test, and the SDK's README shows its files`()
        async throws
    {
        let made = try await new("--lang=swift", "com.example.stamp")
        let next = try #require(made.output.split(separator: "\n").last).dropFirst("next: ".count)
        // With this mask the group can write to what the compiler makes.
        let tested = try await shell(
            "umask 002 && \(next) "
                + "OUTLET='\(try Products.path("outlet")) --timeout=\(120 * patience)'")
        #expect(tested.exitCode == 0, "\(tested.output)\(tested.errorOutput)")
        #expect(tested.output.contains(" passed, 0 failed, "))
        #expect(!tested.output.contains("warning, "))
        #expect(tested.output.contains("the configured header is set"), "its unit test ran")
        let readme = try String(contentsOf: URL(filePath: "\(sdk)/README.md"), encoding: .utf8)
        for (file, kind) in [
            ("Package.swift", "swift"), ("Sources/Stamp/Stamp.swift", "swift"),
            ("Tests/StampTests/StampTests.swift", "swift fragment"),
        ] {
            let text = String(decoding: try folder.read("stamp/\(file)"), as: UTF8.self)
            #expect(readme.contains("```\(kind)\n\(text)```\n"), "\(file)")
        }
        let own = String(decoding: try folder.read("stamp/README.md"), as: UTF8.self)
        let command = try #require(
            own.split(separator: "```").first { $0.hasPrefix("sh\ngdb ") }?.dropFirst(3))
        let server = try LoopbackServer.start()
        let debugged = try await shell(
            "cd stamp && "
                + command.replacing("gdb ", with: "gdb -q -batch ")
                .replacing("-ex run", with: "-ex run -ex backtrace -ex continue")
                .replacing("http://127.0.0.1:8080", with: server.baseURL))
        let text = debugged.output
        #expect(text.contains(" hit Breakpoint 1, ") && text.contains("Stamp.swift:21"), "\(text)")
    }

    @Test func `the SDK is installed in any folder, and never removes another one`() async throws {
        let make = "make -s -C \(ShellWord.quoted(sdk))"
        try folder.write("kept", to: "pre/kept")
        let packed = try await shell(
            "\(make) install DESTDIR=\"$PWD/a folder\" PREFIX=/usr && "
                + "test -e 'a folder/usr/include/outlet/outlet.h' && "
                + "\(make) uninstall DESTDIR=\"$PWD/a folder\" PREFIX=/usr && "
                + "test ! -e 'a folder/usr/include/outlet'")
        #expect(packed.exitCode == 0, "\(packed.errorOutput)")
        for prefix in ["\(folder.path("pre")) fix", "pre", ""] {
            for target in ["install", "uninstall"] {
                let refused = try await shell("\(make) \(target) PREFIX='\(prefix)'")
                #expect(refused.exitCode == 2 && refused.errorOutput.contains("PREFIX='\(prefix)'"))
            }
        }
        #expect(try folder.read("pre/kept") == Array("kept".utf8))
    }

    @Test func `a new Swift plugin has its id in source and manifest`() async throws {
        #expect(
            try await new("--lang=swift", "my-stamp", "--directory", "other").exitCode == 0)
        let manifest = String(
            decoding: try folder.read("other/Sources/MyStamp/Manifest.swift"), as: UTF8.self)
        #expect(
            manifest.contains(#"// {"id":"com.example.my-stamp","version":"1.0.0","abi":"1.0""#))
        let source = String(
            decoding: try folder.read("other/Sources/MyStamp/MyStamp.swift"), as: UTF8.self)
        #expect(source.contains("struct MyStamp: ConfiguredPlugin, RequestPreparing {"))
        #expect(source.contains(#"id: "com.example.my-stamp""#) && !source.contains("{Type}"))
    }

    @Test(arguments: [
        ("host", "HostPlugin"), ("string", "StringPlugin"), ("self", "SelfPlugin"),
        ("any", "AnyPlugin"), ("manifest", "ManifestPlugin"), ("outlet-http", "OutletHttpPlugin"),
        ("outlet", "OutletPluginPlugin"), ("c-curl", "CCurlPlugin"), ("c", "C"),
        ("stamp", "Stamp"), ("hosts", "Hosts"),
    ])
    func `the type of a Swift plugin has a name that nothing else has`(
        name: String, type: String
    ) throws {
        let project = try #require(PluginProject(name: name, language: .swift))
        #expect(project.typeName == type)
    }

    @Test func `no type or module of the SDK has the name of a Swift plugin's type`() throws {
        let kit = "\(sdk)/Swift/OutletPluginKit"
        let files = try FileManager.default.contentsOfDirectory(atPath: kit)
            .filter { $0.hasSuffix(".swift") }
        var names: [String] = []
        for file in files {
            let text = try String(contentsOf: URL(filePath: "\(kit)/\(file)"), encoding: .utf8)
            names += text.matches(
                of: /(?m)^public (?:final )?(?:struct|class|enum|protocol) (\w+)/
            ).map { String($0.1) }
        }
        #expect(names.contains("Host") && names.contains("RequestPreparing"))
        let package = try String(
            contentsOf: URL(filePath: "\(sdk)/../Package.swift"), encoding: .utf8)
        // The modules that a name can have the form of, but for those that begin with `Outlet` or `C`.
        names += package.matches(of: /(?:name: |cPlugin\()"([A-Z]\w+)"/)
            .map { String($0.1) }
            .filter { !$0.hasPrefix("Outlet") && $0.prefixMatch(of: /C[A-Z]/) == nil }
        #expect(names.contains("Pacer"))
        #expect(names.filter { !PluginTemplate.takenNames.contains($0) } == [])
    }

    @Test func `the manifest is equal to the output of the SDK's tool`() async throws {
        let project = try #require(PluginProject(name: "com.example.stamp", language: .swift))
        try project.write(to: folder.path("stamp"))
        let written = try folder.read("stamp/Sources/Stamp/Manifest.swift")
        let made = try await Program.run(
            "/bin/sh", ["\(sdk)/Swift/manifest.sh", "com.example.stamp", "1.0.0"])
        let bytes = { (text: String) in text.split(separator: "\n").filter { $0.contains("0x") } }
        #expect(
            bytes(String(decoding: written, as: UTF8.self)).map { $0.filter { $0 != " " } }
                == bytes(made.output).map { $0.filter { $0 != " " } })
    }

    @Test func `an existing project is not overwritten`() async throws {
        try folder.write("mine", to: "stamp/stamp.c")
        let made = try await new("--lang=c", "stamp")
        #expect(made.exitCode == 1)
        #expect(
            made.errorOutput
                == "outlet: stamp: not made: it exists already, and the project's folder must be a new one\n"
        )
        #expect(try folder.read("stamp/stamp.c") == Array("mine".utf8))
    }

    @Test func `missing parents are made, and one that cannot be made is named`() async throws {
        for directory in ["a/b/", "a//c"] {
            let made = try await new("--lang=c", "--directory", directory, "stamp")
            #expect(made.exitCode == 0, "\(made.errorOutput)")
            #expect(try !folder.read("\(directory)/stamp.c").isEmpty)
        }
        let again = try await new("--lang=c", "--directory", "a/b/", "stamp")
        #expect(
            again.errorOutput
                == "outlet: a/b/: not made: it exists already, and the project's folder must be a new one\n"
        )
        _ = try folder.write("", to: "file")
        let refused = try await new("--lang=c", "--directory", "file/a/b", "stamp")
        #expect(refused.exitCode == 1)
        #expect(refused.errorOutput == "outlet: file/a: not made: Not a directory\n")
    }

    @Test(arguments: [
        "", "Stamp", "stamp_it", "a..b", ".a", "a.", "1a", "a-", "a/b", "..", "a b", "\u{E9}",
        String(repeating: "a", count: 65),
    ])
    func `an invalid project name is refused`(name: String) {
        #expect(PluginProject(name: name, language: .c) == nil)
    }
}

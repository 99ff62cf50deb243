import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

@testable import OutletCLI

/// The command `outlet plugins new`, and the files that it writes.
@Suite(.timeLimit(.minutes(patience * 4))) struct PluginProjectTests {
    private let folder: TemporaryDirectory
    private let sdk: String

    init() throws {
        folder = try TemporaryDirectory()
        let root = #filePath.dropLast("/Tests/OutletCLITests/PluginProjectTests.swift".count)
        sdk = "\(root)/PluginsSDK"
    }

    private func new(_ arguments: String...) async throws -> Program.Result {
        try await Program.run(
            Products.path("outlet"), ["plugins", "new"] + arguments, directory: folder.path)
    }

    @Test func `a new C plugin builds with its Makefile and passes its test`() async throws {
        let made = try await new("--lang=c", "com.example.my-stamp")
        #expect(made.exitCode == 0)
        #expect(
            made.output == "wrote my-stamp: com.example.my-stamp\nnext: cd my-stamp && make test\n")
        // Options may be at any position; the timeout is long enough for a busy machine.
        let program = "\(try Products.path("outlet")) --timeout=\(120 * patience)"
        let tested = try await Program.run(
            "/usr/bin/make", ["-C", "my-stamp", "test", "CFLAGS=-Wall -Wextra -Werror"],
            environment: ["OUTLET_SDK": sdk, "OUTLET": program],
            directory: folder.path, deadline: .seconds(180 * patience))
        #expect(tested.exitCode == 0, "\(tested.output)\(tested.errorOutput)")
        #expect(tested.output.contains(" passed, 0 failed, "))
        #expect(!tested.output.contains("warning, "))
    }

    @Test func `without an SDK the Makefile fails with instructions`() async throws {
        #expect(try await new("--lang=c", "stamp").exitCode == 0)
        let built = try await Program.run(
            "/usr/bin/make", ["-C", "stamp"], environment: ["PKG_CONFIG_LIBDIR": folder.path],
            directory: folder.path)
        #expect(built.exitCode == 2)
        #expect(built.errorOutput.contains("no SDK: install outlet-plugin.pc, or set OUTLET_SDK"))
    }

    // Does not build it, which takes a minute: after changing the template, build it by hand.
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
            made.errorOutput == "outlet: stamp: not made: there is something of that name\n")
        #expect(try folder.read("stamp/stamp.c") == Array("mine".utf8))
    }

    @Test(arguments: [
        "", "Stamp", "stamp_it", "a..b", ".a", "a.", "1a", "a-", "a/b", "..", "a b", "\u{E9}",
        String(repeating: "a", count: 65),
    ])
    func `an invalid project name is refused`(name: String) {
        #expect(PluginProject(name: name, language: .c) == nil)
    }
}

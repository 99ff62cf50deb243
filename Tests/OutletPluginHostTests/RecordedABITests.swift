import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTestSupport
import Testing

private let root = #filePath.dropLast(
    "/Tests/OutletPluginHostTests/RecordedABITests.swift".count)

/// The plugins that were built for each minor version of the ABI and are kept in the repository.
@Suite(.timeLimit(.minutes(patience * 2))) struct RecordedPluginTests {
    #if arch(x86_64)
        private static let machine = "x86_64"
    #elseif arch(arm64)
        private static let machine = "aarch64"
    #endif

    /// The versions with a plugin for this machine.
    private static let versions: [String] = {
        let folder = "\(root)/Tests/RecordedPlugins"
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        return (names ?? []).sorted().filter {
            FileManager.default.fileExists(atPath: "\(folder)/\($0)/recorded-\(machine).so")
        }
    }()

    private func load(_ version: String) throws -> PluginHost {
        let folder = try PluginFolder()
        try FileManager.default.copyItem(
            atPath: "\(root)/Tests/RecordedPlugins/\(version)/recorded-\(Self.machine).so",
            toPath: "\(folder.path)/recorded.so")
        return try folder.load(configuration: ["recorded": #"{"word": "first"}"#]) {
            $0.loadPolicy = .all
        }
    }

    #if arch(x86_64)
        @Test func `each recorded layout has a recorded plugin`() throws {
            let names = try FileManager.default.contentsOfDirectory(
                atPath: "\(root)/PluginsSDK/C/abi")
            #expect(!names.isEmpty)
            #expect(names.sorted() == Self.versions.map { "\($0).txt" })
        }
    #endif

    @Test(arguments: versions)
    func `a plugin of an older minor version takes part in requests`(version: String) async throws {
        let host = try load(version)
        let server = try ScriptedServer.start(.request, .respond(body: "hello"))
        let session = Session(transport: CurlTransport(), plugins: host)
        let serializer = try #require(host.serializer("recorded"))
        let response = await session.request(server.baseURL)
            .serializingResponse(using: serializer).response
        #expect(response.value == PluginSerialized(type: "text", data: Data("hello".utf8)))
        #expect(response.response?.statusCode == 202)
        #expect(response.response?.headers["X-Recorded"] == "processed")
        let head = try #require(server.requests.values.first).head
        #expect(
            head.contains("\r\nX-Recorded: first\r\n") && head.contains("\r\nX-Method: GET\r\n"))
        // Every hook was called once; -3 is OUTLET_E_DENIED, for a service without a permission.
        let all = PluginValue.text("1 1 1 1 1 1 1 1 1 1 1 -3")
        while try host.call("recorded.report") != all, !Task.isCancelled { await Task.yield() }
        #expect(try host.call("recorded.report") == all)
        #expect(host.plugins.first?.misbehaviour.isEmpty == true)
        withExtendedLifetime(session) {}
        #expect(await host.shutDown().isEmpty)
    }

    @Test(arguments: versions)
    func `a plugin of an older minor version is called and reconfigured`(version: String) throws {
        let host = try load(version)
        let plugin = try #require(host.plugins.first)
        let length = PluginCallback { arguments in
            guard case .text(let text) = arguments[0] else { return .nothing }
            return .int(Int64(text.utf8.count))
        }
        #expect(try plugin.call("add", .int(30), .int(8), .function(length)) == 42)
        try plugin.reconfigure(#"{"word": "second"}"#)
        #expect(throws: PluginLoadError.self) { try plugin.reconfigure("{}") }
    }
}

/// The comparison of the headers with the recorded layouts (`.ci/abi`).
@Suite(.timeLimit(.minutes(patience * 2))) struct ABIComparisonTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["include", "abi"] {
            try FileManager.default.copyItem(
                atPath: "\(root)/PluginsSDK/C/\(name)", toPath: directory.path(name))
        }
    }

    /// Replaces a text of a header, which must be there once.
    private func change(_ header: String, _ old: String, _ new: String) throws {
        let url = URL(filePath: directory.path("include/outlet/\(header)"))
        let text = try String(contentsOf: url, encoding: .utf8)
        let parts = text.components(separatedBy: old)
        try #require(parts.count == 2, "\(old)")
        try parts.joined(separator: new).write(to: url, atomically: false, encoding: .utf8)
    }

    /// Runs the comparison; returns its messages.
    private func run(_ command: String) async throws -> [Substring] {
        let result = try await Program.run(
            "\(root)/.ci/abi",
            [
                command, "--include", directory.path("include"), "--layouts", directory.path("abi"),
            ],
            environment: ["PATH": String(cString: getenv("PATH"))])
        let lines = result.errorOutput.split(separator: "\n")
        #expect((result.exitCode == 0) == lines.isEmpty)
        return lines
    }

    @Test func `the headers match the recorded layouts`() async throws {
        #expect(try await run("check") == [])
    }

    @Test(arguments: [
        (
            "plugin.h", "    outlet_view vendor;  /* may be empty */\n", "",
            "abi: outlet_descriptor.vendor was removed (since 1.0)"
        ),
        (
            "host.h", "    uint32_t abi_minor;   /*",
            "    uint32_t new_field;\n    uint32_t abi_minor;   /*",
            "abi: outlet_host.abi_minor moved from offset 4 to 8 (since 1.0)"
        ),
        (
            "host.h", "int32_t verdict, uint64_t delay_ns,", "int64_t verdict, uint64_t delay_ns,",
            "abi: outlet_host.retry_done was outlet_status (*)(const outlet_host*, "
                + "outlet_completion, int32_t, uint64_t, outlet_view, outlet_view) (8 bytes) and is "
                + "outlet_status (*)(const outlet_host*, outlet_completion, int64_t, uint64_t, "
                + "outlet_view, outlet_view) (8 bytes) (since 1.0)"
        ),
        (
            "base.h", "OUTLET_E_DENIED (-3)", "OUTLET_E_DENIED (-30)",
            "abi: constant OUTLET_E_DENIED was -3 and is -30 (since 1.0)"
        ),
        (
            "base.h", "    outlet_view value;\n", "    outlet_view value;\n    uint64_t flags;\n",
            "abi: struct outlet_field grew from 32 to 40 bytes, and states no size (since 1.0)"
        ),
        (
            "entry.h", "outlet_module_v1(uint32_t host_minor);",
            "outlet_module_v1(uint64_t host_minor);",
            "abi: function outlet_module_v1 was const outlet_module*(uint32_t) and is "
                + "const outlet_module*(uint64_t) (since 1.0)"
        ),
        (
            "trust.h", "    outlet_view fault;\n", "    outlet_view fault;\n    uint64_t flags;\n",
            "abi: new in 1.0: outlet_trust.flags; increase OUTLET_ABI_MINOR, then run .ci/abi record"
        ),
    ])
    func `an incompatible change of the headers is reported`(
        header: String, old: String, new: String, message: String
    ) async throws {
        try change(header, old, new)
        #expect(try await run("check").contains(Substring(message)))
    }

    @Test func `an appended field is recorded as a new minor version and may not be removed`()
        async throws
    {
        try change(
            "trust.h", "    outlet_view fault;\n", "    outlet_view fault;\n    uint64_t flags;\n")
        try change("version.h", "OUTLET_ABI_MINOR 0", "OUTLET_ABI_MINOR 1")
        try change("version.h", "OUTLET_ABI_FROZEN 0", "OUTLET_ABI_FROZEN 1")
        #expect(try await run("check") == ["abi: 1.1.txt is missing: run .ci/abi record"])
        #expect(try await run("record") == [])
        #expect(try await run("check") == [])
        try change("trust.h", "    uint64_t flags;\n", "    uint64_t marks;\n")
        let removed = "abi: outlet_trust.flags was removed (since 1.1)"
        #expect(try await run("check").contains(Substring(removed)))
        #expect(try await run("record").contains(Substring(removed)))
    }
}

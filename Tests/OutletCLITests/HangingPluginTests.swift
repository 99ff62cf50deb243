import FoundationEssentials
import Glibc
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// The program with plugins whose hooks or functions never return.
@Suite(.timeLimit(.minutes(3))) struct HangingPluginTests {
    private let directory: TemporaryDirectory
    private let plugin: String
    private let server: LoopbackServer

    init() throws {
        directory = try TemporaryDirectory()
        plugin = try directory.copy("libFaultyHangs.so")
        server = try LoopbackServer.start()
    }

    /// Returns arguments with which the plugin hangs in the given hook.
    private func arguments(_ hook: String) -> [String] {
        let path = hook == "retry" ? "/status/503" : "/status/204"
        return [
            server.baseURL + path, "--plugins", plugin, "--plugin-config",
            #"faulty.hangs={"hook":"\#(hook)"}"#,
        ]
    }

    private static let hooks = [
        "create", "hooks", "adapt", "prepare", "will_send", "retry", "did_receive", "process",
    ]

    @Test(arguments: hooks)
    func `the timeout ends a hanging hook, and the error names it`(hook: String) async throws {
        let program = try RunningProgram(
            Products.path("outlet"), arguments(hook) + ["--timeout=2"])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 2)
        // The timeouts of the request and of the program race to print the line. The shutdown of
        // the plugins may print more lines after it.
        let lines = result.errorOutput.split(separator: "\n").filter {
            $0.contains(": no answer within 2.0 s")
                && $0.contains("plugin faulty.hangs has not returned from \(hook) for ")
                && $0.hasSuffix(" (--timeout allows more)")
        }
        #expect(!lines.isEmpty, "\(result.errorOutput)")
    }

    @Test func `a report is printed once if the timeout ends a hanging plugin`() async throws {
        let program = try RunningProgram(
            Products.path("outlet"), arguments("create") + ["--timeout=2", "--json"])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 2)
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["response"] == .null && report["exit_code"] == 2)
        #expect(report["error"]?["code"] == "timedOut")
        #expect(report["error"]?["message"]?.stringValue?.contains("from create for ") == true)
    }

    @Test func `the report has the exit code of a program whose plugin hangs in quiesce`()
        async throws
    {
        let program = try RunningProgram(
            Products.path("outlet"), arguments("quiesce") + ["--timeout=2", "--json"])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 7)
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["response"]?["status"] == 204 && report["error"] == .null)
        #expect(report["exit_code"] == 7)
        #expect(report["plugin_status"]?[0]?["plugin"] == "faulty.hangs")
    }

    @Test func `the report has the exit code of a signal that ends the shutdown of plugins`()
        async throws
    {
        let program = try RunningProgram(
            Products.path("outlet"), arguments("quiesce") + ["--json"])
        try await hanging(program)
        program.signal(2)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 130)
        #expect(try JSONValue(parsing: result.standardOutput)["exit_code"] == 130)
    }

    @Test(arguments: ["wire", "wire-quick"])
    func `the time limit names a stdin that is silent while a plugin reads it`(
        plugin: String
    ) async throws {
        let wire = try directory.copy("libFaultyWire.so")
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                "--chunked", "--timeout=1", server.baseURL + "/post", "--plugins", wire,
                "--plugin-config", #"faulty.\#(plugin)={"finalize": "read"}"#,
            ], standardInput: .open)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 2)
        #expect(
            result.errorOutput.contains("within 1.0 s, stdin is not at its end (--timeout"),
            "\(result.errorOutput)")
    }

    @Test func `a hook that must not block and does not return ends the program with its name`()
        async throws
    {
        let blocking = try directory.copy("libFaultyBlocksNonblocking.so")
        let settings = try directory.write(
            #"{"plugins": {"faulty.blocks-nonblocking": {"config": {"until": "ever"}, "#
                + #""deadlines": {"prepare": 0.1}}}}"#, to: "plugins.json")
        chmod(settings, 0o600)
        try FileManager.default.removeItem(atPath: plugin)
        let program = try RunningProgram(
            Products.path("outlet"),
            [server.baseURL + "/status/204", "--plugins", directory.path])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains(
                "a plugin holds up the program: plugin faulty.blocks-nonblocking has not returned "
                    + "from prepare for 1."))
        #expect(FileManager.default.fileExists(atPath: blocking))
    }

    @Test(arguments: hooks, [(2, 130), (15, 143)] as [(Int32, Int32)])
    func `a signal ends a hanging hook, and the error names it`(
        hook: String, end: (signal: Int32, code: Int32)
    ) async throws {
        let program = try RunningProgram(Products.path("outlet"), arguments(hook))
        try await hanging(program)
        program.signal(end.signal)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == end.code)
        #expect(
            result.errorOutput.contains(
                "outlet: \(end.code == 130 ? "interrupted" : "terminated"): plugin faulty.hangs has "
                    + "not returned from \(hook) for "))
    }

    @Test(arguments: ["create", "call"])
    func `a signal ends a hanging plugin function, and the error names it`(hook: String)
        async throws
    {
        let program = try RunningProgram(
            Products.path("outlet"),
            ["plugins", "call", "faulty.hangs.function"] + arguments(hook).dropFirst())
        try await hanging(program)
        program.signal(2)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 130)
        #expect(
            result.errorOutput.hasPrefix(
                "hanging\noutlet: interrupted: plugin faulty.hangs has not returned from \(hook) for "
            ))
    }

    @Test(arguments: [["plugins", "inspect", "--run", "x"], [":1/"], ["demo"]])
    func `a signal ends a library that hangs in dlopen, and the error names it`(
        arguments: [String]
    ) async throws {
        let library = try directory.copy("libFaultyHangsOnLoad.so")
        let program = try RunningProgram(
            Products.path("outlet"), arguments + ["--plugins", library])
        try await hanging(program)
        program.signal(2)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 130)
        #expect(
            result.errorOutput.hasPrefix(
                "hanging\noutlet: interrupted: plugin \(library) has not returned from load for "))
    }

    @Test func `a plugin that hangs in quiesce is abandoned and named`() async throws {
        let program = try RunningProgram(Products.path("outlet"), arguments("quiesce"))
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains(
                "outlet: plugin faulty.hangs: has not returned from quiesce, and was abandoned\n"
            )
        )
    }

    @Test func `a signal ends the wait for a plugin that hangs in quiesce`() async throws {
        let program = try RunningProgram(Products.path("outlet"), arguments("quiesce"))
        try await hanging(program)
        program.signal(2)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 130)
        // Without a violation: the plugin's time had not passed.
        #expect(
            result.errorOutput
                == "hanging\noutlet: plugin faulty.hangs: has not returned from quiesce, and was "
                + "abandoned\noutlet: GET \(server.baseURL)/status/204: after the exchange: "
                + "interrupted\n")
    }

    @Test func `the timeout includes the start of the plugins`()
        async throws
    {
        // No request is sent, because the plugin does not start.
        let waiting = try ScriptedServer.start(.request, .stall)
        let program = try RunningProgram(
            Products.path("outlet"),
            [waiting.baseURL] + arguments("create").dropFirst() + ["--timeout=0.3"])
        #expect(try await program.result(within: .seconds(30)).exitCode == 2)
        #expect(waiting.requests.count == 0)
    }

    /// Waits until the plugin has printed that it hangs.
    private func hanging(_ program: RunningProgram) async throws {
        try await program.errorOutput(containing: "hanging\n")
    }

    @Test(arguments: ["adapt", "prepare", "retry", "process"])
    func `the timeout ends a pending hook that never settles, and the error names it`(
        hook: String
    ) async throws {
        let path = hook == "retry" ? "/status/503" : "/status/204"
        let result = try await RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + path, "--timeout=2", "--plugins", plugin, "--plugin-config",
                #"faulty.hangs={"hook":"\#(hook)","how":"promise"}"#,
            ]
        ).result(within: .seconds(30))
        #expect(result.exitCode == 2)
        #expect(
            result.errorOutput.contains(
                ": no answer within 2.0 s, plugin faulty.hangs has not settled \(hook) for "
            ), "\(result.errorOutput)")
    }

    @Test func `the timeout limits the shutdown of a plugin`() async throws {
        let program = try RunningProgram(
            Products.path("outlet"), arguments("quiesce") + ["--timeout=2"])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 7)
        #expect(result.errorOutput.contains("and was abandoned\n"))
    }

    @Test(arguments: ["create", "call"])
    func `the timeout ends a hanging plugin function, and the error names it`(
        hook: String
    ) async throws {
        let result = try await RunningProgram(
            Products.path("outlet"),
            [
                "plugins", "call", "faulty.hangs.function", "--timeout=1", "--plugins", plugin,
                "--plugin-config", #"faulty.hangs={"hook":"\#(hook)"}"#,
            ]
        ).result(within: .seconds(30))
        #expect(result.exitCode == 2)
        #expect(
            result.errorOutput.contains(
                "outlet: plugins call faulty.hangs.function: not done within 1.0 s: plugin "
                    + "faulty.hangs has not returned "
                    + "from \(hook) for "))
    }

    @Test(arguments: ["create", "call"])
    func `the JSON report of a call that the time limit or a signal ends has the error`(
        hook: String
    ) async throws {
        let command =
            ["plugins", "call", "faulty.hangs.function", "--json"] + arguments(hook).dropFirst()
        let timed = try await RunningProgram(
            Products.path("outlet"), command + ["--timeout=1"]
        ).result(within: .seconds(30))
        #expect(timed.exitCode == 2)
        let program = try RunningProgram(Products.path("outlet"), command)
        try await hanging(program)
        program.signal(2)
        let interrupted = try await program.result(within: .seconds(30))
        #expect(interrupted.exitCode == 130)
        for (result, what) in [
            (timed, ": not done within 1.0 s: "), (interrupted, "interrupted: "),
        ] {
            let report = try JSONValue(parsing: result.standardOutput)
            #expect(report["schema"] == "outlet.call/1")
            #expect(report["function"] == "faulty.hangs.function")
            let message = report["error"]?["message"]?.stringValue ?? ""
            #expect(
                message.contains(what) && message.contains("has not returned from \(hook) for "),
                "\(message)")
        }
    }

    @Test(arguments: [["inspect", "--run"], ["config", "--run"]])
    func `the JSON report of a library that hangs in dlopen has the error`(
        command: [String]
    ) async throws {
        let library = try directory.copy("libFaultyHangsOnLoad.so")
        let place = command[0] == "inspect" ? [library] : ["--plugins", library]
        let result = try await RunningProgram(
            Products.path("outlet"), ["plugins"] + command + place + ["--json", "--timeout=1"]
        ).result(within: .seconds(30))
        #expect(result.exitCode == 2)
        let report = try JSONValue(parsing: result.standardOutput)
        let message = report["error"]?["message"]?.stringValue ?? ""
        #expect(message.contains("has not returned from load for "), "\(message)")
    }

    @Test func `the timeout and signals end a plugin that blocks in the loader`() async throws {
        let directory = try TemporaryDirectory()
        let plugin = try directory.copy("libFaultyBlocksInResolver.so")
        let timed = try await RunningProgram(
            Products.path("outlet"), [server.baseURL, "--plugins", plugin, "--timeout=1"]
        ).result(within: .seconds(30))
        #expect(timed.exitCode == 2)
        let fact = "plugin \(plugin) has not returned from load for "
        #expect(timed.errorOutput.contains(fact), "\(timed.errorOutput)")
        let called = try await RunningProgram(
            Products.path("outlet"),
            ["plugins", "call", "a.b", "--plugins", plugin, "--timeout=1"]
        ).result(within: .seconds(30))
        #expect(called.exitCode == 2)
        #expect(called.errorOutput.contains(fact), "\(called.errorOutput)")
        let program = try RunningProgram(
            Products.path("outlet"), ["plugins", "inspect", "--run", plugin, "--timeout=60"])
        try await program.errorOutput(containing: "resolving\n")
        program.signal(2)
        let ended = try await program.result(within: .seconds(30))
        #expect(ended.exitCode == 130)
        #expect(ended.errorOutput.contains(fact), "\(ended.errorOutput)")
    }

    @Test func `the time limit of a hook ends one that blocks while the host reads its memory`()
        async throws
    {
        let directory = try TemporaryDirectory()
        _ = try directory.copy("libFaultyBlocksReaders.so")
        try directory.write(
            #"{"plugins": {"faulty.blocks-readers": {"deadlines": {"prepare": 0.2}}}}"#,
            to: "plugins.json")
        let result = try await RunningProgram(
            Products.path("outlet"), [server.baseURL, "--plugins", directory.path]
        ).result(within: .seconds(30))
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains("plugin faulty.blocks-readers: breaks the contract: "),
            "\(result.errorOutput)")
    }
}

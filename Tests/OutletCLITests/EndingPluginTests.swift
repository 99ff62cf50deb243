import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// The program with plugins that exit, crash or change the process.
@Suite(.timeLimit(.minutes(3))) struct EndingPluginTests {
    private let directory: TemporaryDirectory
    private let plugin: String
    private let server: LoopbackServer

    init() throws {
        directory = try TemporaryDirectory()
        plugin = try directory.copy("libFaultyHangs.so")
        server = try LoopbackServer.start()
    }

    /// Runs the program with a plugin that ends it in a hook.
    private func run(_ hook: String, _ how: String) async throws -> Program.Result {
        let path = hook == "retry" ? "/status/503" : "/status/204"
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                "PUT", server.baseURL + path + "?token=s3cret", "--plugins", plugin,
                "--plugin-config", #"faulty.hangs={"hook":"\#(hook)","how":"\#(how)"}"#,
            ])
        return try await program.result(within: .seconds(30))
    }

    /// The hook and the request that the error message names.
    private func place(_ hook: String) -> String {
        guard hook != "create" && hook != "quiesce" else { return hook }
        let path = hook == "retry" ? "/status/503" : "/status/204"
        return "\(hook) of PUT \(server.baseURL)\(path)?token="
    }

    private static let hooks = [
        "create", "adapt", "prepare", "will_send", "retry", "did_receive", "process", "quiesce",
    ]

    @Test(arguments: hooks)
    func `exit in a plugin exits with 7, and the error names the plugin and hook`(hook: String)
        async throws
    {
        let result = try await run(hook, "exit")
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains(
                "outlet: plugin faulty.hangs: has called exit() in \(place(hook))"))
        #expect(!result.errorOutput.contains("s3cret"))
    }

    @Test func `quick_exit in a plugin exits with 7`() async throws {
        let result = try await run("will_send", "quick_exit")
        #expect(result.exitCode == 7)
        #expect(result.errorOutput.contains("has called exit() in will_send of PUT "))
    }

    @Test(
        arguments: [("fault", "SIGSEGV", 11), ("abort", "SIGABRT", 6)] as [(String, String, Int32)])
    func `a crash in a plugin is reported in one line, and the process ends by the signal`(
        how: String, name: String, number: Int32
    ) async throws {
        for hook in Self.hooks {
            let result = try await run(hook, how)
            #expect(result.signal == number)
            #expect(
                result.errorOutput.contains(
                    "outlet: plugin faulty.hangs: has crashed with \(name) in \(place(hook))"),
                "\(result.errorOutput)")
            #expect(!result.errorOutput.contains("s3cret"))
        }
    }

    @Test(arguments: hooks)
    func `_exit in a plugin exits with 7, and the error names the plugin and hook`(hook: String)
        async throws
    {
        let result = try await run(hook, "_exit")
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains(
                "outlet: plugin faulty.hangs: has called _exit() in \(place(hook))"))
    }

    @Test(arguments: ["raise", "overflow"])
    func `a raised signal and a stack overflow in a plugin are reported as crashes`(
        how: String
    ) async throws {
        for hook in ["create", "adapt", "did_receive"] {
            let result = try await run(hook, how)
            #expect(result.signal == 11)
            #expect(
                result.errorOutput.contains("has crashed with SIGSEGV in \(hook)"),
                "\(result.errorOutput)")
        }
    }

    /// Runs the program with a plugin that changes the process in a hook.
    private func page(_ hook: String, _ how: String) async throws -> Program.Result {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "--plugins", plugin, "--plugin-config",
                #"faulty.hangs={"hook":"\#(hook)","how":"\#(how)"}"#,
            ])
        return try await program.result(within: .seconds(30))
    }

    @Test func `a forked child process ends in the hook, and the fork is reported`() async throws {
        let plain = try await page("none", "")
        let result = try await page("prepare", "fork")
        #expect(result.exitCode == 0)
        #expect(
            result.errorOutput.hasPrefix(
                "outlet: plugin faulty.hangs: has copied the process with fork() in prepare of GET "
            ))
        #expect(result.output == plain.output)
    }

    @Test func `a change of the process state by a plugin is reported`() async throws {
        let result = try await run("prepare", "chdir")
        #expect(result.exitCode == 0)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.hangs: breaks the contract: state-process: it changed the "
                + "current directory\n")
    }

    @Test func `a plugin that closes the standard streams does not lose output`() async throws {
        let plain = try await page("none", "")
        let result = try await page("create", "close")
        #expect(result.exitCode == 0)
        #expect(result.output == plain.output)
    }

    @Test func `a plugin that replaces stdout causes an error`() async throws {
        let result = try await page("create", "hijack")
        #expect(result.exitCode != 0)
        #expect(result.output == "")
    }

    /// The trust hook runs on the transport's thread, where signals are blocked.
    @Test func `a crash in the trust hook is reported`() async throws {
        let nginx = try await Nginx.shared()
        let library = try directory.copy("libFaultyAnswers.so")
        let result = try await RunningProgram(
            Products.path("outlet"),
            [
                "https://localhost:\(nginx.port(.tls))/small.txt", "--verify=no", "--plugins",
                library,
                "--plugin-config", #"faulty.answers={"hook":"trust","how":"fault"}"#,
            ]
        ).result(within: .seconds(30))
        #expect(result.signal == 11)
        #expect(
            result.errorOutput.contains(
                "outlet: plugin faulty.answers: has crashed with SIGSEGV in trust of localhost"))
    }
}

import Glibc
import OutletTestServer
import OutletTestSupport
import Testing

/// The program with plugins that change how signals are dealt with, or cause them.
@Suite(.timeLimit(.minutes(3))) struct PluginSignalTests {
    private let directory: TemporaryDirectory
    private let plugin: String
    private let server: LoopbackServer

    init() throws {
        directory = try TemporaryDirectory()
        plugin = try directory.copy("libFaultySignals.so")
        server = try LoopbackServer.start()
    }

    /// Runs the program with a plugin that does something with signals in a hook.
    ///
    /// - Parameters:
    ///   - hook: The name of the hook; "load" for a constructor.
    ///   - how: What the plugin does.
    private func run(_ hook: String, _ how: String) async throws -> Program.Result {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "--plugins", plugin, "--plugin-config",
                #"faulty.signals={"hook":"\#(hook)","how":"\#(how)"}"#,
            ], environment: hook == "load" ? ["FAULTY_SIGNALS": how] : [:])
        return try await program.result(within: .seconds(30))
    }

    @Test(
        arguments: [
            "sighold", "sigblock", "sigsetmask", "sigset", "sigset_ignore", "sigignore",
            "bsd_signal", "__sigaction", "siglongjmp", "longjmp", "setcontext", "swapcontext",
            "handler_mask", "handler_end", "wait_suspend", "wait_ppoll", "wait_pselect",
            "wait_epoll",
        ])
    func `a crash is reported also where a plugin has ignored or blocked its signal`(
        how: String
    ) async throws {
        for hook in ["load", "create", "prepare"] {
            let result = try await run(hook, how)
            #expect(result.signal == SIGSEGV)
            // While it is loaded, a plugin has the name of its file.
            let name = hook == "load" ? "/" : "faulty.signals: "
            #expect(
                result.errorOutput.hasPrefix("outlet: plugin \(name)"), "\(result.errorOutput)")
            #expect(
                result.errorOutput.contains(": has crashed with SIGSEGV in \(hook)"),
                "\(result.errorOutput)")
        }
    }

    @Test(arguments: ["SIGPIPE", "SIGXFSZ", "SIGTERM"])
    func `a signal that a plugin resets while it is loaded is named, and put back`(how: String)
        async throws
    {
        for hook in ["load", "create"] {
            let result = try await run(hook, how)
            #expect(result.exitCode == 0)
            #expect(
                result.errorOutput
                    == "outlet: plugin faulty.signals: breaks the contract: state-process: loading it "
                    + "changed the handler of \(how); that was put back\n")
        }
        let result = try await run("prepare", how)
        #expect(result.exitCode == 0)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.signals: breaks the contract: state-process: it changed the "
                + "handler of \(how)\n")
    }

    @Test func `a closed pipe does not end the program after a plugin has reset SIGPIPE`()
        async throws
    {
        // The reader ends when it has read the first byte of more than fits into the pipe.
        let program = try RunningProgram(
            "/bin/sh",
            [
                "-c", #"{ "$@"; echo "code $?" >&2; } | head -c 1"#, "sh", Products.path("outlet"),
                server.baseURL + "/bytes/1000000", "--plugins", plugin, "--plugin-config",
                #"faulty.signals={"hook":"prepare","how":"SIGPIPE"}"#,
            ])
        let result = try await program.result(within: .seconds(30))
        #expect(result.errorOutput.hasSuffix("code 0\n"), "\(result.errorOutput)")
        #expect(result.errorOutput.contains("it changed the handler of SIGPIPE\n"))
    }

    @Test(arguments: ["timer", "file", "queue", "call"])
    func `a signal that a plugin lets the kernel send is not taken for the user's`(
        way: String
    ) async throws {
        for name in ["HUP", "INT", "TERM", "QUIT"] {
            let result = try await run("prepare", "\(way) \(name)")
            #expect(result.exitCode == 7)
            #expect(
                result.errorOutput.contains("has ended the process by SIG\(name) "),
                "\(result.errorOutput)")
            // On any thread of the program's: in the hook, or outside of it.
            #expect(result.errorOutput.contains("faulty.signals"), "\(result.errorOutput)")
        }
    }

    @Test func `a plugin whose constructor lets the kernel send a signal is named by its file`()
        async throws
    {
        let result = try await run("load", "timer HUP")
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains("has ended the process by SIGHUP "),
            "\(result.errorOutput)")
        // The name is cut off.
        #expect(
            result.errorOutput.contains(String(plugin.prefix(90))), "\(result.errorOutput)")
    }

    @Test func `signals in handlers of a plugin's do as POSIX says`() async throws {
        for hook in ["create", "prepare"] {
            let result = try await run(hook, "nested")
            #expect(result.exitCode == 0)
            #expect(result.errorOutput.isEmpty, "\(result.errorOutput)")
        }
    }

    @Test(arguments: ["timer", "file", "queue", "transfer"])
    func `a plugin that lets the kernel kill the program is named`(way: String) async throws {
        for hook in ["create", "prepare"] {
            let result = try await run(hook, "\(way) KILL")
            #expect(result.exitCode == 7)
            #expect(
                result.errorOutput.hasPrefix(
                    "outlet: plugin faulty.signals: has ended the process by SIGKILL in \(hook)"),
                "\(result.errorOutput)")
        }
    }

    @Test(arguments: [(SIGHUP, 129), (SIGQUIT, nil)] as [(Int32, Int32?)])
    func `a signal of the user's is not reported as a plugin's`(
        number: Int32, code: Int32?
    ) async throws {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "--plugins", plugin, "--plugin-config",
                #"faulty.signals={"hook":"prepare","how":"wait"}"#,
            ])
        try await program.errorOutput(containing: "waiting\n")
        program.signal(number)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == code)
        #expect(result.signal == (code == nil ? number : nil))
        #expect(!result.errorOutput.contains("has ended"), "\(result.errorOutput)")
    }
}

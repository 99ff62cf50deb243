import FoundationEssentials
import Glibc
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
        guard !["create", "hooks", "quiesce"].contains(hook) else { return hook }
        let path = hook == "retry" ? "/status/503" : "/status/204"
        return "\(hook) of PUT \(server.baseURL)\(path)?token=***"
    }

    private static let hooks = [
        "create", "hooks", "adapt", "prepare", "will_send", "retry", "did_receive", "process",
        "quiesce",
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

    @Test(
        arguments: [
            ("quiesce", "value-known: "), ("quiesce-directory", "state-process: "),
        ])
    func `a plugin that breaks a rule at its end causes exit code 7, after a call, too`(
        mode: String, rule: String
    ) async throws {
        let plugins = [
            "--plugins", try directory.copy("libFaultyOddValues.so"),
            "--plugin-config", #"faulty.odd-values={"mode": "\#(mode)"}"#,
        ]
        let words = [
            ["GET", server.baseURL + "/get"], ["plugins", "call", "faulty.odd-values.fine"],
        ]
        for command in words {
            let result = try await Program.run(Products.path("outlet"), command + plugins)
            #expect(result.exitCode == 7, "\(command)")
            #expect(result.errorOutput.contains("breaks the contract: \(rule)"), "\(command)")
        }
        guard mode == "quiesce" else { return }
        let result = try await Program.run(Products.path("outlet"), words[1] + plugins + ["--json"])
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["violations"]?[0]?["rule"] == "value-known")
    }

    @Test(arguments: ["atexit", "destructor"])
    func `a plugin that ends the process after its end exits with 7 or is a crash`(
        place: String
    ) async throws {
        let plugin = try directory.copy("libFaultyEndsAtExit.so")
        for (how, fact) in [
            ("quick_exit", "called quick_exit()"), ("exec", "called exec()"),
            ("errx", "called exit_group()"),
            ("kill", "ended the process by SIGKILL"), ("overflow", "crashed with SIGSEGV"),
        ] {
            let program = try RunningProgram(
                Products.path("outlet"),
                [
                    server.baseURL + "/status/404", "--plugins", plugin, "--plugin-config",
                    #"faulty.ends-at-exit={"at":"\#(place)","how":"\#(how)"}"#,
                ])
            let result = try await program.result(within: .seconds(30))
            if how == "overflow" {
                #expect(result.signal == 11)
            } else {
                #expect(result.exitCode == 7, "\(how)")
            }
            #expect(
                result.errorOutput.contains("outlet: has \(fact) while the program ends"),
                "\(result.errorOutput)")
        }
    }

    @Test func `a thread of a plugin that ends the process with its exit code exits with 7`()
        async throws
    {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "--plugins", try directory.copy("libFaultyEndsAtExit.so"),
                "--plugin-config", #"faulty.ends-at-exit={"at":"on_exit","how":"thread"}"#,
            ])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains("outlet: has called exit_group() while the program ends"),
            "\(result.errorOutput)")
    }

    @Test(arguments: [
        ("pthread_exit", "pthread_exit() in HOOK"), ("thrd_exit", "thrd_exit() in HOOK"),
        ("pthread_cancel", "pthread_cancel() in HOOK"),
        // From another thread.
        ("cancel_waiting", "pthread_cancel() in a thread that it started in HOOK"),
        ("cancel_before", "pthread_cancel() in HOOK"),
    ])
    func `a plugin that ends a thread of the program exits with 7 and is named`(
        how: String, end: String
    ) async throws {
        for hook in ["create", "prepare", "adapt", "did_receive"] {
            let result = try await run(hook, how)
            #expect(result.exitCode == 7)
            #expect(
                result.errorOutput.hasPrefix(
                    "outlet: plugin faulty.hangs: has ended a thread of the program with "
                        + end.replacing("HOOK", with: hook)), "\(result.errorOutput)")
        }
    }

    @Test(arguments: ["unseen_exit", "unseen_cancel"])
    func `a plugin that ends a thread by functions that it looks up is reported as a crash`(
        how: String
    ) async throws {
        for (hook, signal) in [("create", "SIGILL"), ("prepare", "SIGABRT")] {
            let result = try await run(hook, how)
            #expect(result.signal != nil)
            #expect(
                result.errorOutput.contains(
                    "outlet: plugin faulty.hangs: has crashed with \(signal) in \(place(hook))"),
                "\(result.errorOutput)")
        }
    }

    @Test func `a cancellation that has no effect is not reported`() async throws {
        let plain = try await page("none", "")
        for hook in ["create", "prepare", "did_receive"] {
            let result = try await page(hook, "cancel_in_vain")
            #expect(result.exitCode == 0)
            #expect(result.errorOutput.isEmpty, "\(result.errorOutput)")
            #expect(result.output == plain.output)
        }
    }

    @Test func `what a plugin writes to all descriptors is not taken for a signal`() async throws {
        let plain = try await page("none", "")
        let result = try await page("create", "write_all")
        #expect(result.exitCode == 0, "\(result.errorOutput)")
        #expect(result.output == plain.output)
    }

    @Test func `a plugin may end threads of its own`() async throws {
        for hook in ["create", "prepare"] {
            let result = try await run(hook, "thread_ends")
            #expect(result.exitCode == 0)
            #expect(result.errorOutput.isEmpty, "\(result.errorOutput)")
        }
    }

    @Test func `a library with which the dynamic linker gives up exits with 7 and is named`()
        async throws
    {
        let plugin = try directory.copy("libFaultyHangs.so")
        let table = directory.path("hash")
        func edit(_ words: String...) async throws {
            let result = try await RunningProgram("/usr/bin/objcopy", words + [plugin])
                .result(within: .seconds(30))
            #expect(result.exitCode == 0, "\(result.errorOutput)")
        }
        try await edit("--dump-section", ".gnu.hash=\(table)")
        var bytes = try [UInt8](Data(contentsOf: URL(filePath: table)))
        // The number of words of its filter, which must be a power of two.
        bytes.replaceSubrange(8..<12, with: [0xFF, 0xFF, 0xFF, 0x7F])
        try Data(bytes).write(to: URL(filePath: table))
        try await edit("--update-section", ".gnu.hash=\(table)")
        let result = try await RunningProgram(
            Products.path("outlet"), [server.baseURL + "/get", "--plugins", plugin]
        ).result(within: .seconds(30))
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains(": has made the dynamic linker end the process in load"),
            "\(result.errorOutput)")
    }

    @Test func `a plugin cannot let the parent trace the process, and is named`() async throws {
        let result = try await run("prepare", "traceme")
        #expect(result.exitCode == 0)
        #expect(
            result.errorOutput.contains(
                "plugin faulty.hangs: has tried to let the parent process trace this one by "
                    + "ptrace() in prepare of PUT "), "\(result.errorOutput)")
    }

    @Test func `quick_exit in a plugin exits with 7`() async throws {
        let result = try await run("will_send", "quick_exit")
        #expect(result.exitCode == 7)
        #expect(result.errorOutput.contains("has called quick_exit() in will_send of PUT "))
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

    @Test(arguments: ["raise", "kill_fault", "overflow"])
    func `a sent signal and a stack overflow in a plugin are reported as crashes`(
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

    @Test(
        arguments: [
            ("default_fault", "SIGSEGV", 11), ("ignored_fault", "SIGSEGV", 11),
            ("handled_abort", "SIGABRT", 6), ("handler_fault", "SIGSEGV", 11),
            ("handler_default", "SIGSEGV", 11), ("no_stack", "SIGSEGV", 11),
            ("blocked_fault", "SIGSEGV", 11), ("syscall_fault", "SIGSEGV", 11),
            ("unaligned_fault", "SIGBUS", 7),
        ] as [(String, String, Int32)])
    func `a crash is reported also after a plugin has changed the handling of signals`(
        how: String, name: String, number: Int32
    ) async throws {
        for hook in ["create", "prepare", "did_receive"] {
            let result = try await run(hook, how)
            #expect(result.signal == number)
            #expect(
                result.errorOutput.contains(
                    "outlet: plugin faulty.hangs: has crashed with \(name) in \(place(hook))"),
                "\(result.errorOutput)")
        }
    }

    @Test(arguments: ["overwrite_own", "overwrite_local", "overwrite_base"])
    func `a crash is reported also after a plugin has overwritten the data of its thread`(
        how: String
    ) async throws {
        for hook in ["create", "prepare", "did_receive"] {
            let result = try await run(hook, how)
            #expect(result.signal == 11)
            #expect(
                result.errorOutput
                    == "outlet: plugin faulty.hangs: has crashed with SIGSEGV in \(place(hook))\n",
                "\(result.errorOutput)")
        }
        let result = try await run("prepare", "overwrite_thread")
        #expect(result.signal == 11)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.hangs: has crashed with SIGSEGV in a thread that it started "
                + "in prepare, during \(place("prepare"))\n", "\(result.errorOutput)")
    }

    @Test func `of several threads that crash at the same time, one is reported`() async throws {
        for _ in 0..<20 {
            let result = try await run("prepare", "fault_together")
            #expect(result.signal == 11)
            #expect(
                result.errorOutput
                    == "outlet: plugin faulty.hangs: has crashed with SIGSEGV in a thread that it "
                    + "started in prepare, during \(place("prepare"))\n", "\(result.errorOutput)")
        }
    }

    @Test(arguments: ["catch", "catch_signal"])
    func `a plugin that catches its own signals is not disturbed`(how: String) async throws {
        // The threads of hooks on the wire block most signals.
        for hook in how == "catch" ? ["create", "prepare", "did_receive"] : ["create"] {
            let result = try await run(hook, how)
            #expect(result.exitCode == 0)
            #expect(result.errorOutput.isEmpty)
        }
    }

    @Test func `a signal that a plugin handles may reach a thread that has called no plugin`()
        async throws
    {
        let plain = try await page("none", "")
        let result = try await page("prepare", "catch_alarms")
        #expect(result.exitCode == 0 && result.output == plain.output)
        #expect(result.errorOutput.contains("handler of SIGALRM"), "\(result.errorOutput)")
    }

    @Test(arguments: [
        ("SIGKILL", "SIGKILL"), ("SIGTERM", "SIGTERM"), ("SIGHUP", "SIGHUP"),
        ("SIGUSR2", "SIGUSR2"), ("SIGRTMIN", "a real-time signal"), ("pidfd", "SIGKILL"),
        ("sigqueueinfo", "SIGKILL"),
    ])
    func `a plugin that sends the program a signal is named, and the program exits with 7`(
        how: String, name: String
    ) async throws {
        for hook in ["create", "prepare"] {
            let result = try await run(hook, how)
            #expect(result.exitCode == 7)
            #expect(
                result.errorOutput.contains(
                    "outlet: plugin faulty.hangs: has ended the process by \(name) in "
                        + place(hook)),
                "\(result.errorOutput)")
        }
    }

    @Test func `a plugin that stops the program is named`() async throws {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/status/204", "--plugins", plugin, "--plugin-config",
                #"faulty.hangs={"hook":"create","how":"SIGSTOP"}"#,
            ])
        try await program.errorOutput(
            containing: "outlet: plugin faulty.hangs: has stopped the process by SIGSTOP in create")
        // SIGKILL: a SIGCONT might come before the stop.
        program.signal(9)
        #expect(try await program.result(within: .seconds(30)).signal == 9)
    }

    @Test(
        arguments: [
            ("SIGALRM", "SIGALRM", 14), ("timer_USR1", "SIGUSR1", 10),
            ("timer_RTMAX", "a real-time signal", 64),
        ] as [(String, String, Int32)])
    func `the signal of a plugin's timer is reported, and ends the process`(
        how: String, name: String, number: Int32
    ) async throws {
        let result = try await run("prepare", how)
        #expect(result.signal == number)
        #expect(
            result.errorOutput.contains("has ended the process by \(name) "),
            "\(result.errorOutput)")
        // On any thread of the program's: in the hook, or outside of it.
        #expect(result.errorOutput.contains("faulty.hangs"), "\(result.errorOutput)")
        let hook = "in prepare of PUT \(server.baseURL)/status/204"
        #expect(result.errorOutput.contains(hook), "\(result.errorOutput)")
    }

    @Test func `a signal of another process is not reported as a plugin's`() async throws {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "--plugins", plugin, "--plugin-config",
                #"faulty.hangs={"hook":"prepare","how":"hang"}"#,
            ])
        try await program.errorOutput(containing: "hanging\n")
        try #require(sigqueue(program.processID, SIGUSR1, sigval()) == 0)
        let result = try await program.result(within: .seconds(30))
        #expect(result.signal == SIGUSR1)
        #expect(!result.errorOutput.contains("has ended"), "\(result.errorOutput)")
    }

    @Test(arguments: ["timer_KILL", "timer_call"])
    func `a timer of a plugin that would kill the program is named`(how: String) async throws {
        let result = try await run("prepare", how)
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains(
                "outlet: plugin faulty.hangs: has ended the process by SIGKILL in prepare of PUT "),
            "\(result.errorOutput)")
    }

    @Test(
        arguments: [
            ("execv", "exec"), ("execlp", "exec"), ("execveat", "exec"),
            ("exit_group", "exit_group"),
        ])
    func `exec and exit_group in a plugin exit with 7, and the error names the plugin and hook`(
        how: String, call: String
    ) async throws {
        for hook in ["create", "prepare"] {
            let result = try await run(hook, how)
            #expect(result.exitCode == 7)
            #expect(
                result.errorOutput.contains(
                    "outlet: plugin faulty.hangs: has called \(call)() in \(place(hook))"),
                "\(result.errorOutput)")
        }
    }

    /// The result of a request whose plugin ends the process, or a thread, as `how` says.
    private func ending(by how: String) async throws -> Program.Result {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "--plugins", try directory.copy("libFaultyRawExit.so"),
                "--plugin-config", #"faulty.raw-exit={"how":"\#(how)"}"#,
            ])
        return try await program.result(within: .seconds(30))
    }

    @Test(arguments: ["next", "handle", "machine"])
    func `a plugin that ends the process without the program's functions exits with 7 and is named`(
        how: String
    ) async throws {
        let result = try await ending(by: how)
        #expect(result.exitCode == 7)
        #expect(result.output.isEmpty)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.raw-exit: has called exit_group() in prepare of GET "
                + "\(server.baseURL)/get\n")
    }

    @Test(
        arguments: [
            ("thread", 7, "has ended a thread of the program with the system call exit() in"),
            ("overflow", nil, "has crashed with SIGSEGV in"),
        ] as [(String, Int32?, String)])
    func `a plugin is named whose system call ends a thread or takes the signal stack`(
        how: String, code: Int32?, fact: String
    ) async throws {
        let result = try await ending(by: how)
        #expect(result.exitCode == code)
        #expect(
            result.errorOutput.contains("outlet: plugin faulty.raw-exit: \(fact) prepare of GET "),
            "\(result.errorOutput)")
    }

    @Test func `programs that a plugin starts end as they would without the program's filter`()
        async throws
    {
        let plain = try await page("none", "")
        let result = try await page("prepare", "spawn")
        #expect(result.exitCode == 0)
        #expect(result.errorOutput == "")
        #expect(result.output == plain.output)
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

    @Test(
        arguments: [
            ("fork", "fork"), ("_Fork", "_Fork"), ("vfork", "fork"), ("clone", "clone"),
        ])
    func `a copy of the process ends in the hook, and is reported`(
        how: String, call: String
    ) async throws {
        let plain = try await page("none", "")
        for hook in ["create", "prepare"] {
            let result = try await page(hook, how)
            #expect(result.exitCode == 0)
            let lines = result.errorOutput.split(separator: "\n")
            #expect(lines.count == 1, "\(result.errorOutput)")
            #expect(
                lines.first?.hasPrefix(
                    "outlet: plugin faulty.hangs: has copied the process with \(call)() in \(hook)")
                    == true, "\(result.errorOutput)")
            #expect(result.output == plain.output)
        }
    }

    @Test(arguments: ["fork", "_Fork", "clone", "thread_fork"])
    func `a copy of the process is a violation in the JSON report of a call`(
        how: String
    ) async throws {
        let result = try await outlet(
            "plugins", "call", "faulty.hangs.function", "--json", "--plugins", plugin,
            "--plugin-config", #"faulty.hangs={"hook":"call","how":"\#(how)"}"#)
        let violations = try JSONValue(parsing: result.standardOutput)["violations"]
        #expect(violations?.arrayValue?.count == 1, "\(result.output)")
        #expect(violations?[0]?["rule"] == "no-fork" && violations?[0]?["hook"] == "call")
        #expect(violations?[0]?["plugin"] == "faulty.hangs")
        let fact = violations?[0]?["fact"]?.stringValue
        #expect(fact?.hasPrefix("it has copied the process with ") == true)
    }

    @Test func `a change of the process state by a plugin is reported`() async throws {
        let result = try await run("prepare", "chdir")
        #expect(result.exitCode == 0)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.hangs: breaks the contract: state-process: it changed the "
                + "current directory\n")
    }

    @Test(arguments: [("prepare", "it changed"), ("create", "loading it changed")])
    func `a plugin that leaves no descriptor free is named`(hook: String, fact: String) async throws
    {
        let result = try await run(hook, "open_all")
        #expect(result.exitCode != 0)
        #expect(
            result.errorOutput.contains(
                "outlet: plugin faulty.hangs: breaks the contract: state-process: \(fact) the open "
                    + "files: no further one can be opened\n"), "\(result.errorOutput)")
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root may act for others"),
        arguments: [("seteuid", "the user"), ("setegid", "the groups")])
    func `a plugin that changes for whom the program acts is named`(how: String, name: String)
        async throws
    {
        for (hook, fact) in [("prepare", "it changed"), ("create", "loading it changed")] {
            let result = try await run(hook, how)
            #expect(
                result.errorOutput
                    == "outlet: plugin faulty.hangs: breaks the contract: state-process: \(fact) "
                    + "\(name)\n")
        }
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root may change the root directory"),
        arguments: ["chroot", "chroot_chdir"])
    func `a plugin that changes the root directory is named for that`(how: String) async throws {
        for (hook, fact) in [("prepare", "it changed"), ("create", "loading it changed")] {
            let result = try await run(hook, how)
            #expect(
                result.errorOutput
                    == "outlet: plugin faulty.hangs: breaks the contract: state-process: \(fact) "
                    + "the root directory\n")
        }
    }

    @Test func `a change of the process state by a function of a plugin is reported`() async throws
    {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                "plugins", "call", "faulty.changes-state.change", "--plugins",
                try directory.copy("libFaultyChangesState.so"), "--plugin-config",
                #"faulty.changes-state={"what":"directory"}"#,
            ])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 0)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.changes-state: breaks the contract: state-process: it "
                + "changed the current directory\n")
    }

    @Test func `a plugin that closes the standard streams does not lose output`() async throws {
        let plain = try await page("none", "")
        let result = try await page("create", "close")
        #expect(result.exitCode == 0)
        #expect(result.output == plain.output)
        #expect(
            result.errorOutput.contains(
                "loading it changed the standard input, the standard output, the standard error "
                    + "stream\n"),
            "\(result.errorOutput)")
    }

    @Test(arguments: ["create", "prepare", "adapt"])
    func `a plugin that reads the standard input gets nothing of the body`(hook: String)
        async throws
    {
        // Longer than what is read before plugins run.
        let body = [UInt8](repeating: UInt8(ascii: "b"), count: 3 << 20)
        for (options, count) in [([], body.count), (["--chunked"], 1000)] {
            let result = try await RunningProgram(
                Products.path("outlet"),
                [
                    "POST", server.baseURL + "/anything", "--plugins", plugin, "--plugin-config",
                    #"faulty.hangs={"hook":"\#(hook)","how":"read_input"}"#,
                ] + options, standardInput: .bytes(Array(body.prefix(count)))
            ).result(within: .seconds(30))
            #expect(result.exitCode == 0, "\(result.errorOutput)")
            #expect(result.errorOutput.isEmpty, "\(result.errorOutput)")
            #expect(result.output.utf8.count { $0 == UInt8(ascii: "b") } >= count)
        }
    }

    @Test func `a plugin that replaces a standard stream later is reported`() async throws {
        let result = try await page("prepare", "replace_stderr")
        #expect(result.exitCode == 0)
        #expect(
            result.errorOutput.hasSuffix("state-process: it changed the standard error stream\n"),
            "\(result.errorOutput)")
    }

    /// Runs the program on a terminal, with a plugin that prints control sequences.
    private func printed(
        _ how: String, path: String = "/status/204"
    ) async throws -> Program.Result {
        // A shell, because the terminal ends when the last descriptor of it is closed.
        let program = try RunningProgram(
            "/bin/sh",
            [
                "-c", #""$@"; exit $?"#, "sh", Products.path("outlet"), server.baseURL + path,
                "--plugins", plugin, "--plugin-config",
                #"faulty.hangs={"hook":"prepare","how":"\#(how)"}"#,
            ], standardOutput: .terminal(columns: 200))
        return try await program.result(within: .seconds(30))
    }

    @Test func `control sequences that a plugin prints are made visible on a terminal`()
        async throws
    {
        let result = try await printed("print")
        #expect(result.exitCode == 0)
        for text in ["now 1", "now 2", "late 1", "late 2"] {
            #expect(result.output.contains("^[[31m\(text)^[]0;x^G\r\n"), "\(result.output)")
        }
        #expect(!result.output.contains("\u{1B}[31m") && !result.output.contains("\u{7}"))
    }

    @Test func `a plugin that closes all other descriptors loses no output on a terminal`()
        async throws
    {
        let result = try await printed("closefrom", path: "/get")
        #expect(result.exitCode == 0)
        #expect(
            result.output.contains(
                "outlet: plugin faulty.hangs: has tried to close descriptors that are not its own in "
                    + "prepare of GET "), "\(result.output)")
        #expect(result.output.contains(server.baseURL + "/get"), "\(result.output)")
    }

    @Test func `what a plugin printed last is shown before the report of its crash`() async throws {
        let result = try await printed("print_abort")
        #expect(result.exitCode == 134)
        let parts = result.output.split(separator: "has crashed with SIGABRT in prepare")
        #expect(parts.count == 2)
        for text in ["last 1", "last 2"] {
            #expect(parts.first?.contains(text) == true, "\(result.output)")
        }
        #expect(!result.output.contains("\u{1B}[31m"))
    }

    @Test(arguments: [
        "close_each", "close_call", "__close", "dup3", "fclose", "pclose", "endmntent",
    ])
    func `a plugin that closes descriptors one by one is named, and the output complete`(
        how: String
    ) async throws {
        let plain = try await page("none", "")
        for hook in ["create", "prepare", "did_receive"] {
            let result = try await page(hook, how)
            #expect(result.exitCode == 0)
            #expect(result.output == plain.output)
            #expect(
                result.errorOutput.hasPrefix(
                    "outlet: plugin faulty.hangs: has tried to close descriptors that are not its "
                        + "own in \(hook)"), "\(result.errorOutput)")
        }
    }

    @Test func `a plugin that closes descriptors of its own is not disturbed`() async throws {
        for hook in ["create", "prepare", "did_receive"] {
            let result = try await run(hook, "close_own")
            #expect(result.exitCode == 0)
            #expect(result.errorOutput.isEmpty, "\(result.errorOutput)")
        }
    }

    @Test func `a plugin that replaces all descriptors does not get the output`() async throws {
        let plain = try await page("none", "")
        for hook in ["create", "prepare"] {
            let result = try await page(hook, "hijack")
            #expect(result.exitCode == 0)
            #expect(result.output == plain.output)
            #expect(
                result.errorOutput.hasPrefix(
                    "outlet: plugin faulty.hangs: has tried to close descriptors that are not its "
                        + "own in \(hook)"), "\(result.errorOutput)")
        }
    }

    @Test(
        arguments: [
            (
                "thread_exit",
                "plugin faulty.hangs: has called _exit() in a thread that it started in "
            ),
            ("daemon", "plugin faulty.hangs: has called daemon() in "),
            ("leave_at_exit", "has called _exit() while the program ends"),
            ("exit_at_exit", "has called exit() while the program ends"),
            ("hang_at_exit", "the program has not ended for 2 s: an exit handler"),
        ])
    func `a plugin that ends or blocks the process outside of its hooks causes exit code 7`(
        how: String, line: String
    ) async throws {
        for hook in ["create", "prepare"] {
            let result = try await page(hook, how)
            #expect(result.exitCode == 7)
            #expect(result.errorOutput.hasPrefix("outlet: \(line)"), "\(result.errorOutput)")
        }
    }

    @Test func `a fork in a thread of a plugin is reported`() async throws {
        let result = try await page("prepare", "thread_fork")
        #expect(result.exitCode == 0)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.hangs: has copied the process with fork() in a thread that "
                + "it started in prepare, during prepare of GET \(server.baseURL)/get\n")
    }

    @Test(
        arguments: [
            ("thread_overflow", "SIGSEGV in a thread that it started in adapt", 11),
            ("thread_value", "SIGSEGV in a thread that it started in adapt", 11),
            ("thread_blocked", "SIGSEGV in a thread that it started in adapt", 11),
            ("thread_c11", "SIGSEGV in a thread that it started in adapt", 11),
            ("mask", "SIGABRT in prepare of GET", 6),
        ] as [(String, String, Int32)])
    func `a crash in a plugin's thread or with blocked signals is reported`(
        how: String, fact: String, number: Int32
    ) async throws {
        let result = try await page("adapt", how)
        #expect(result.signal == number)
        #expect(
            result.errorOutput.hasPrefix("outlet: plugin faulty.hangs: has crashed with \(fact)"),
            "\(result.errorOutput)")
    }

    @Test func `a change of the environment is reported`() async throws {
        let plain = try await page("none", "")
        let result = try await page("prepare", "clearenv")
        #expect(result.exitCode == 0)
        #expect(result.output == plain.output)
        #expect(result.errorOutput.contains("state-process: "))
        #expect(
            result.errorOutput.contains("it changed the environment"), "\(result.errorOutput)")
    }

    @Test(
        arguments: [
            "rounding", "x87_value", "x87_full", "x87_precision", "direction", "alignment",
        ])
    func `a changed floating-point control is restored after the hook, and named`(
        how: String
    ) async throws {
        let plain = try await page("none", "")
        for hook in ["create", "prepare", "did_receive"] {
            let result = try await page(hook, how)
            #expect(result.exitCode == 0)
            #expect(result.output == plain.output)
            #expect(
                result.errorOutput.hasPrefix(
                    "outlet: plugin faulty.hangs: breaks the contract: state-thread: \(hook): it "
                        + "changed the floating-point control of its thread, which was restored"),
                "\(result.errorOutput)")
        }
    }

    @Test func `a change of the environment at the start is reported as one that stays`()
        async throws
    {
        let result = try await run("create", "setenv")
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.hangs: breaks the contract: state-process: loading it changed "
                + "the environment\n")
    }

    @Test func `a change of the process state in quiesce is reported`() async throws {
        let result = try await run("quiesce", "chdir")
        #expect(result.errorOutput.contains("state-process: it changed the current directory\n"))
    }

    @Test(arguments: [
        ("close_and_hang", "has not returned from prepare"),
        ("close_promise", "has not settled prepare"),
    ])
    func `a plugin that closes descriptors and does not answer is named at the time limit`(
        how: String, fact: String
    ) async throws {
        let result = try await RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "--timeout=1", "--plugins", plugin, "--plugin-config",
                #"faulty.hangs={"hook":"prepare","how":"\#(how)"}"#,
            ]
        ).result(within: .seconds(30))
        #expect(result.exitCode == 2)
        #expect(
            result.errorOutput.contains("plugin faulty.hangs \(fact)"),
            "\(result.errorOutput)")
        // The end of the plugin may be reported as well.
        let lines = result.errorOutput.split(separator: "\n").filter { $0.hasPrefix("outlet: ") }
        #expect(lines.first?.contains("has tried to close") == true, "\(result.errorOutput)")
        #expect(lines.count { $0.hasPrefix("outlet: GET ") } == 1, "\(result.errorOutput)")
    }

    @Test func `repeated signals end a plugin that has closed all descriptors and hangs`()
        async throws
    {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "--plugins", plugin, "--plugin-config",
                #"faulty.hangs={"hook":"prepare","how":"close_and_hang"}"#,
            ])
        try await program.errorOutput(containing: "hanging\n")
        let signals = Task {
            while !Task.isCancelled {
                program.signal(2)
                await Task.yield()
            }
        }
        let result = try await program.result(within: .seconds(30))
        signals.cancel()
        #expect(result.exitCode == 130)
    }

    @Test func `a plugin that cancels the thread of its hook does not end the program`()
        async throws
    {
        let plain = try await page("none", "")
        let result = try await page("prepare", "cancel")
        #expect(result.exitCode == 0)
        #expect(result.output == plain.output)
    }

    @Test func `a plugin that would close all descriptors is refused, and named`() async throws {
        let plain = try await page("none", "")
        let result = try await page("create", "closefrom")
        #expect(result.exitCode == 0)
        #expect(result.output == plain.output)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.hangs: has tried to close descriptors that are not its own "
                + "in create\n")
    }

    @Test func `an output file is written where the program was started`() async throws {
        let other = try TemporaryDirectory()
        let result = try await RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "-o", "page", "--plugins", plugin, "--plugin-config",
                #"faulty.hangs={"hook":"prepare","how":"chdir"}"#,
            ], directory: other.path
        ).result(within: .seconds(30))
        #expect(result.exitCode == 0)
        #expect(try Data(contentsOf: URL(filePath: other.path("page"))).isEmpty == false)
    }

    @Test func `an exception in a thread of a plugin in C++ is reported`() async throws {
        let result = try await RunningProgram(
            Products.path("outlet"),
            [
                server.baseURL + "/get", "--plugins",
                try directory.copy("libFaultyThrowsInThread.so"),
            ]
        ).result(within: .seconds(30))
        #expect(result.signal == 6)
        #expect(
            result.errorOutput.contains(
                "outlet: plugin faulty.throws-in-thread: has crashed with SIGABRT in a thread that it "
                    + "started in will_send"), "\(result.errorOutput)")
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

    @Test func `with a trust hook an untrusted certificate has the same code and stage`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let library = try directory.copy("libFaultyAnswers.so")
        let result = try await RunningProgram(
            Products.path("outlet"),
            [
                "https://localhost:\(nginx.port(.tls))/small.txt", "--json", "--plugins", library,
                "--plugin-config", #"faulty.answers={"hook":"trust","how":"none"}"#,
            ]
        ).result(within: .seconds(30))
        #expect(result.exitCode == 1)
        #expect(
            result.output.contains(
                #""error":{"code":"serverCertificateUntrusted","stage":"securing","message":"GET "#)
        )
        #expect(result.errorOutput.contains("the server's certificate is not trusted here: "))
        #expect(result.errorOutput.contains("(if you trust its authority, --cacert FILE names it)"))
    }
}

import FoundationEssentials
import Glibc
import Outlet
import OutletTestSupport
import Testing

/// The command `outlet plugins check`.
@Suite(.timeLimit(.minutes(patience * 2))) struct PluginCheckTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `a plugin that follows the rules passes`() async throws {
        let plugin = try directory.copy("librequest-id.so")
        let result = try await outlet(
            "plugins", "check", plugin, "--only", "entry-same", "--only", "file", "--seed", "5")
        #expect(result.exitCode == 0)
        #expect(result.errorOutput == "")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("passed   file  ") && lines[1].hasPrefix("passed   entry  "))
        #expect(lines[2] == "2 passed, 0 failed, 0 skipped; seed 5")
    }

    @Test func `a plugin is checked where only 64 files may be open`() async throws {
        let plugin = try directory.copy("librequest-id.so")
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", #"ulimit -n 64; exec "$0" plugins check "$1" --only file"#,
                Products.path("outlet"), plugin,
            ])
        #expect(result.exitCode == 0, "\(result.output)")
    }

    @Test func `a broken rule is reported with its name and advice, and exits with 7`()
        async throws
    {
        let plugin = try directory.copy("libFaultyRefusesNewer.so")
        let result = try await outlet("plugins", "check", plugin, "--only", "entry", "--seed", "5")
        #expect(result.exitCode == 7)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines[0].hasPrefix("FAILED   entry  "))
        #expect(lines[1].hasPrefix("         entry-minor: it refuses minor 1, though "))
        #expect(lines[2].hasPrefix("         to do: compare host_minor "))
        #expect(lines[4] == "again: outlet plugins check \(plugin) --seed 5 --only entry")
    }

    @Test func `the command that repeats a test quotes the path for the shell`() async throws {
        try FileManager.default.createDirectory(
            atPath: directory.path("a b'c"), withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755])
        let plugin = directory.path("a b'c/plugin.so")
        try FileManager.default.moveItem(
            atPath: try directory.copy("libFaultyRefusesNewer.so"), toPath: plugin)
        let result = try await outlet("plugins", "check", plugin, "--only", "entry", "--seed", "5")
        let again = try #require(
            result.output.split(separator: "\n").last { $0.hasPrefix("again: outlet ") })
        let repeated = try await Program.run(
            "/bin/sh",
            ["-c", "\"$0\" \(again.dropFirst("again: outlet ".count))", Products.path("outlet")])
        #expect(repeated.exitCode == 7, "\(repeated.errorOutput)")
        #expect(repeated.output.contains(again), "\(repeated.output)")
    }

    @Test func `the JSON report has each test with its rule`() async throws {
        let plugin = try directory.copy("libFaultyNullModule.so")
        let result = try await outlet("plugins", "check", plugin, "--json", "--only", "entry-minor")
        #expect(result.exitCode == 7)
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["schema"] == "outlet.check/1" && report["passed"] == false)
        let test = try #require(report["tests"]?[0])
        #expect(test["test"] == "load" && test["verdict"] == "failed")
        #expect(test["rule"] == "entry-minor" && test["seed"] == report["seed"])
        #expect(test["findings"]?[0]?["advice"]?.stringValue?.isEmpty == false)
    }

    @Test func `the JSON report of a file that cannot be read has the error`() async throws {
        let result = try await outlet("plugins", "check", "--json", directory.path("none.so"))
        #expect(result.exitCode == 66)
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["schema"] == "outlet.check/1" && report["passed"] == false)
        #expect(report["tests"] == [])
        let message = report["error"]?["message"]?.stringValue
        #expect(message?.hasSuffix("none.so: no such file, or not readable") == true)
    }

    @Test func `text and JSON say where leaks were compared with a coarser limit`() async throws {
        let plugin = try directory.copy("libFaultySlowHooks.so")
        let command = ["plugins", "check", plugin, "--only", "call-again", "--timeout", "3"]
        let fact =
            #/there was time for \d+ requests only, not for 250: .* with 32768 bytes, not with 1024/#
        let text = try await Program.run(Products.path("outlet"), command)
        #expect(text.exitCode == 0 && text.output.contains(fact), "\(text.output)")
        let result = try await Program.run(Products.path("outlet"), command + ["--json"])
        let report = try JSONValue(parsing: result.standardOutput)
        let note = report["tests"]?[0]?["notes"]?[0]?.stringValue ?? ""
        #expect(note.contains(fact), "\(result.output)")
        #expect(report["passed"] == true)
    }

    @Test func `output of a plugin is reported without control characters`() async throws {
        let plugin = try directory.copy("libFaultyPrints.so")
        let result = try await outlet("plugins", "check", plugin, "--only", "no-output")
        #expect(result.exitCode == 7)
        #expect(result.output.contains("no-output: "))
        #expect(result.output.contains("[31mprinted by a plugin"))
        #expect(!result.standardOutput.contains(0x1B))
    }

    @Test func `texts of a descriptor are shown, and do not act on a terminal`() async throws {
        let plugin = try directory.copy("libFaultyRawText.so")
        let result = try await outlet("plugins", "check", plugin, "--only", "entry-module")
        #expect(result.exitCode == 7)
        #expect(result.output.contains("entry-module: "))
        #expect(!result.standardOutput.contains(0x1B))
    }

    @Test(arguments: [
        (["--only", "settle-onc"], "did you mean 'settle-once'?"),
        (["--seed", "x"], "--seed: x: not a whole number"),
        (["again.so"], "one file is wanted"),
    ])
    func `a wrong command line is refused`(arguments: [String], words: String) async throws {
        let plugin = try directory.copy("librequest-id.so")
        let result = try await Program.run(
            Products.path("outlet"), ["plugins", "check", plugin] + arguments)
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains(words))
    }

    @Test func `an error in the configuration names --plugin-config as its source`() async throws {
        let plugin = try directory.copy("librequest-id.so")
        let result = try await outlet(
            "plugins", "check", plugin, "--only", "create", "--plugin-config",
            #"dev.outlet.request-id={"prefix": 1}"#)
        #expect(result.exitCode == 7)
        #expect(result.output.contains("is wrong: --plugin-config: /prefix: "), "\(result.output)")
    }

    @Test func `the check ends after its time limit if its output is not read`() async throws {
        let plugin = try directory.copy("librequest-id.so")
        let path = directory.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let pipe = FileDescriptor(open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC))
        let bytes = [UInt8](repeating: 0, count: 4096)
        while write(pipe.number, bytes, bytes.count) > 0 {}
        try #require(fcntl(pipe.number, F_SETFL, 0) == 0)
        let program = try RunningProgram(
            "/bin/sh",
            [
                "-c", #"exec "$0" plugins check "$1" --only file --timeout 2 >&3"#,
                Products.path("outlet"), plugin,
            ], inheriting: [pipe])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 2)
        #expect(result.errorOutput.contains("plugins check: no result written within 2.0 s"))
        #expect(result.errorOutput.contains("stdout has accepted nothing for "))
        withExtendedLifetime(pipe) {}
    }

    @Test(arguments: [(SIGHUP, 129), (SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func `a signal ends all tests, their processes, and removes their temporary files`(
        number: Int32, exitCode: Int32
    ) async throws {
        let plugin = try directory.copy("libFaultyStartsProcess.so")
        let fifo = directory.path("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let temporary = directory.path("temporary")
        try #require(mkdir(temporary, 0o700) == 0)
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                "plugins", "check", plugin, "--json", "--only", "create", "--plugin-config",
                #"faulty.starts-process={"fifo": "\#(fifo)", "hangs": "yes"}"#,
            ], environment: ["TMPDIR": temporary])
        // The byte of a process that the plugin has started, and that keeps the file open.
        let reader = try await offPool {
            let reader = FileDescriptor(open(fifo, O_RDONLY | O_CLOEXEC))
            var byte: UInt8 = 0
            return read(reader.number, &byte, 1) == 1 ? reader : nil
        }
        let started = try #require(reader)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).count == 1)
        program.signal(number)
        let result = try await program.result()
        #expect(result.exitCode == exitCode)
        let report = try JSONValue(parsing: result.output)
        #expect(report["tests"] == [] && report["passed"] == false, "\(result.output)")
        #expect(report["error"]?["message"]?.stringValue?.isEmpty == false)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == [])
        // The end of the file: nothing has it open for writing.
        let rest = try await offPool {
            var byte: UInt8 = 0
            return read(started.number, &byte, 1)
        }
        #expect(rest == 0)
    }

    /// Checks a plugin that writes files, from a directory with files of the user's.
    ///
    /// - Parameters:
    ///   - arguments: Further arguments.
    ///   - exitCode: The expected exit code.
    private func checkWriter(_ arguments: [String], exitCode: Int32) async throws {
        let temporary = directory.path("temporary")
        try #require(mkdir(temporary, 0o700) == 0)
        let work = directory.path("work")
        try #require(mkdir(work, 0o755) == 0)
        try Data("kept".utf8).write(to: URL(filePath: directory.path("work/check")))
        try Data("kept".utf8).write(to: URL(filePath: directory.path("work/log")))
        try FileManager.default.moveItem(
            atPath: try directory.copy("libFaultyWritesFiles.so"), toPath: "\(work)/writer.so")
        let program = try RunningProgram(
            Products.path("outlet"), ["plugins", "check", "writer.so"] + arguments,
            environment: ["TMPDIR": temporary], directory: work)
        let result = try await program.result()
        #expect(result.exitCode == exitCode, "\(result.output)")
        let names = try FileManager.default.contentsOfDirectory(atPath: work)
        #expect(Set(names) == ["check", "log", "writer.so"])
        for name in ["check", "log"] {
            #expect(try Data(contentsOf: URL(filePath: "\(work)/\(name)")) == Data("kept".utf8))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == [])
    }

    @Test func `files that a plugin makes of made-up texts are removed, and the user's stay`()
        async throws
    {
        try await checkWriter(["--only", "create", "--only", "functions"], exitCode: 0)
    }

    @Test func `the files of a plugin that is ended at its time limit are removed`() async throws {
        try await checkWriter(
            [
                "--only", "create", "--timeout", "1", "--plugin-config",
                #"faulty.writes-files={"slow": "yes"}"#,
            ], exitCode: 7)
    }

    @Test func `a plugin can be checked with a relative TMPDIR and a relative file of settings`()
        async throws
    {
        _ = try directory.copy("librequest-id.so")
        let settings = directory.path("settings.json")
        try Data(#"{"prefix": "a"}"#.utf8).write(to: URL(filePath: settings))
        try #require(chmod(settings, 0o600) == 0 && mkdir(directory.path("t"), 0o700) == 0)
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                "plugins", "check", "librequest-id.so", "--only", "create", "--plugin-config",
                "dev.outlet.request-id=@settings.json",
            ], environment: ["TMPDIR": "t"], directory: directory.path)
        let result = try await program.result()
        #expect(result.exitCode == 0, "\(result.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path("t")) == [])
    }

    @Test func `text and JSON say that a plugin has refused all requests`() async throws {
        let plugin = try directory.copy("libguard.so")
        let command = [
            "plugins", "check", plugin, "--only", "hooks", "--plugin-config",
            #"dev.outlet.guard={"allow": ["a.test"]}"#,
        ]
        let fact = #/dev.outlet.guard: finalize has refused all \d+ requests \(.*check.example/#
        let text = try await Program.run(Products.path("outlet"), command)
        #expect(text.exitCode == 0 && text.output.contains(fact), "\(text.output)")
        let result = try await Program.run(Products.path("outlet"), command + ["--json"])
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["tests"]?[0]?["notes"]?[0]?.stringValue?.contains(fact) == true)
    }

    @Test func `a missing file exits with 66`() async throws {
        let result = try await outlet("plugins", "check", directory.path("none.so"))
        #expect(result.exitCode == 66)
    }
}

import FoundationEssentials
import Glibc
import Outlet
import OutletTestServer
import Testing

@testable import OutletTestSupport

/// Every wait of the program ends at the timeout and with a signal.
@Suite(.timeLimit(.minutes(3))) struct EndingTests {
    private static let size = 4 << 20

    private let directory: TemporaryDirectory
    private let server: LoopbackServer

    init() throws {
        directory = try TemporaryDirectory()
        server = try LoopbackServer.start()
    }

    private func start(
        _ arguments: String..., standardInput: RunningProgram.Input = .bytes([]),
        standardOutput: RunningProgram.Output = .pipes
    ) throws -> RunningProgram {
        try RunningProgram(
            Products.path("outlet"), arguments, standardInput: standardInput,
            standardOutput: standardOutput)
    }

    /// Makes a named pipe and returns its path.
    private func namedPipe() throws -> String {
        let path = directory.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        return path
    }

    // MARK: Before there is a request

    @Test func `the timeout applies while waiting for stdin`() async throws {
        let program = try start(server.baseURL, "--timeout=0.3", standardInput: .open)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 2)
        #expect(
            result.errorOutput
                == "outlet: no request within 0.3 s: stdin is not at its end "
                + "(--timeout allows more)\n")
    }

    @Test(arguments: ["inspect", "config", "call"])
    func `the timeout applies while a command of plugins waits for a configuration`(
        command: String
    ) async throws {
        let pipe = try namedPipe()
        let operands = ["call": ["a.b"], "inspect": ["a"]][command] ?? []
        let program = try RunningProgram(
            Products.path("outlet"),
            ["plugins", command] + operands + [
                "--plugins", directory.path, "--plugin-config", "a=@\(pipe)", "--timeout=0.3",
            ])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 2)
        let name = "plugins \(command)" + (command == "call" ? " a.b" : "")
        #expect(
            result.errorOutput
                == "outlet: \(name): not done within 0.3 s: \(pipe) is not at its end "
                + "(--timeout allows more)\n")
    }

    @Test(
        arguments: [
            (1, 129, "hung up"), (2, 130, "interrupted"), (15, 143, "terminated"),
        ] as [(Int32, Int32, String)])
    func `a signal ends the program while it waits for stdin`(
        signal: Int32, code: Int32, name: String
    ) async throws {
        let program = try start(
            server.baseURL, standardInput: .open, standardOutput: .terminal(columns: 80))
        try await program.output(containing: "waiting for the body")
        program.signal(signal)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == code)
        #expect(
            result.output.hasSuffix(
                "outlet: \(name): stdin is not at its end\r\n"))
    }

    @Test(arguments: [(1, 129), (2, 130), (15, 143)] as [(Int32, Int32)])
    func `a report has the exit code of the signal that ended the program`(
        signal: Int32, code: Int32
    ) async throws {
        let silent = try ScriptedServer.start(.request, .stall)
        let program = try start("--json", silent.baseURL)
        while silent.received(on: 0).isEmpty, !Task.isCancelled { await Task.yield() }
        program.signal(signal)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == code)
        #expect(result.output.contains("\"exit_code\":\(code)"), "\(result.output)")
    }

    @Test func `a report is printed once if a signal ends the program while it waits for stdin`()
        async throws
    {
        let program = try start("--json", "\(server.baseURL)/post", standardInput: .open)
        try await program.errorOutput(containing: "waiting for the body")
        program.signal(15)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 143)
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["request"]?["url"] == .string("\(server.baseURL)/post"))
        #expect(report["response"] == .null && report["exit_code"] == 143)
        #expect(report["error"]?["code"] == "cancelled")
        #expect(report["error"]?["message"] == "terminated: stdin is not at its end")
    }

    @Test(arguments: ["a=@", "a:=@", "a==@", "A:@"])
    func `the timeout applies while waiting for a file`(item: String) async throws {
        let path = try namedPipe()
        let program = try start(":1/", "--timeout=0.3", "\(item)\(path)")
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 2)
        #expect(result.errorOutput.contains("no request within 0.3 s: \(path) is not at its end"))
    }

    @Test func `a signal ends the program while it waits for a file`() async throws {
        let path = try namedPipe()
        let program = try start(":1/", "a=@\(path)")
        // This `open` returns once the program has opened the pipe for reading.
        let isOpen = try Gate()
        try onOwnThread {
            let writer = open(path, O_WRONLY | O_CLOEXEC)
            isOpen.open()
            var byte: UInt8 = 0
            _ = read(writer, &byte, 0)
        }
        try await isOpen.opened()
        program.signal(2)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 130)
        #expect(result.errorOutput == "outlet: interrupted: \(path) is not at its end\n")
    }

    @Test func `an endless file is refused as a value`() async throws {
        let result = try await outlet(":1/", "a=@/dev/zero")
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains("/dev/zero: larger than 256 MiB"))
    }

    @Test(arguments: [["--cacert"], ["--verify=no", "--cert"]])
    func `a named pipe is refused as a certificate`(
        options: [String]
    ) async throws {
        let path = try namedPipe()
        let program = try RunningProgram(
            Products.path("outlet"), ["https://127.0.0.1:\(server.port)/"] + options + [path])
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode != 0)
        #expect(result.errorOutput.contains("\(path) is a named pipe, not a plain file"))
    }

    // MARK: A reader that does not read

    @Test(arguments: [["--json"], ["--pretty=all"], []])
    func `the timeout applies while stdout is not read`(options: [String]) async throws {
        let program = try RunningProgram(
            Products.path("outlet"),
            options + ["\(server.baseURL)/bytes/\(Self.size)", "--timeout=2"],
            standardOutput: .unread(after: 1))
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == 2)
        #expect(result.errorOutput.contains("/bytes/\(Self.size): "))
        #expect(result.errorOutput.contains(" within 2.0 s"))
        #expect(result.errorOutput.contains(": stdout has accepted nothing for "))
    }

    @Test(arguments: [["--json"], []], [(2, 130), (15, 143)] as [(Int32, Int32)])
    func `a signal ends the program while stdout is not read`(
        options: [String], end: (signal: Int32, code: Int32)
    ) async throws {
        let program = try RunningProgram(
            Products.path("outlet"), options + ["\(server.baseURL)/bytes/\(Self.size)"],
            standardOutput: .unread(after: 1))
        // The rest of the output is larger than the pipe's buffer.
        try await program.outputBegun()
        program.signal(end.signal)
        let result = try await program.result(within: .seconds(30))
        #expect(result.exitCode == end.code)
    }

    @Test func `a signal ends the program while stdout and stderr are not read`() async throws {
        let program = try RunningProgram(
            "/bin/sh",
            [
                "-c", #"exec "$0" --json "$1" 2>&1"#, Products.path("outlet"),
                "\(server.baseURL)/bytes/\(Self.size)",
            ], standardOutput: .unread(after: 1))
        try await program.outputBegun()
        program.signal(2)
        #expect(try await program.result(within: .seconds(30)).exitCode == 130)
    }

    @Test func `the timeout applies while the output pipe has no reader`()
        async throws
    {
        let path = try namedPipe()
        let result = try await start("\(server.baseURL)/get", "-o", path, "--timeout=1")
            .result(within: .seconds(30))
        #expect(result.exitCode == 2)
        #expect(result.errorOutput.contains(": \(path) has accepted nothing for "))
        let report = try await start("--json", "\(server.baseURL)/get", "-o", path, "--timeout=1")
            .result(within: .seconds(30))
        #expect(report.exitCode == 2)
        let value = try JSONValue(parsing: report.standardOutput)
        #expect(value["response"]?["status"] == 200 && value["response"]?["body"] == .null)
        #expect(value["error"]?["code"] == "timedOut" && value["exit_code"] == 2)
    }

    @Test func `the error is on stderr although the terminal of stdout has stopped`() async throws {
        let (reader, terminal) = try FileDescriptor.terminal(columns: 80)
        let long = try ScriptedServer.start(
            .request,
            .respond(
                headers: ["Content-Type: application/json"],
                body: "[" + String(repeating: "1,", count: 100_000) + "1]"))
        let program = try RunningProgram(
            "/bin/sh",
            [
                "-c", #"exec "$0" "$@" >&3"#, Products.path("outlet"), long.baseURL, "--timeout=1",
            ],
            environment: ["TERM": "xterm"], inheriting: [terminal])
        let result = try await program.result(within: .seconds(30))
        withExtendedLifetime(reader) {}
        #expect(result.exitCode == 2)
        #expect(
            result.errorOutput.contains(": stdout has accepted nothing for "),
            "\(result.errorOutput)")
    }

    @Test(arguments: ["HUP", "INT", "TERM"])
    func `a signal while a report is read changes neither the report nor the exit code`(
        name: String
    ) async throws {
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c",
                // The report is begun, and larger than the pipe's buffer.
                #"""
                mkfifo "$3"; "$0" -I --json "$1" >"$3" & exec 8<"$3"; read -r -N 10 begin <&8
                kill -"$2" $!; printf %s "$begin"; cat <&8; wait $!; echo $?
                """#, Products.path("outlet"), "\(server.baseURL)/bytes/\(Self.size)", name,
                directory.path("fifo"),
            ])
        let lines = result.output.split(separator: "\n")
        let code = try #require(lines.last)
        // A reader that is late for the time limit gets a part of the report, and that is no JSON.
        guard lines.count == 2, let report = try? JSONValue(parsing: String(lines[0])) else {
            return
        }
        #expect(report["exit_code"] == 0 && report["error"] == .some(nil))
        #expect(code == "0" && result.errorOutput == "")
    }

    @Test(arguments: [["--json"], []])
    func `a signal while plugins are shut down is reported`(options: [String]) async throws {
        let plugin = try directory.copy("libFaultySlowDestroy.so")
        let url = server.baseURL + "/get"
        let program = try RunningProgram(
            Products.path("outlet"), options + [url, "--plugins", plugin])
        func isInDestroy() throws -> Bool {
            let tasks = "/proc/\(program.processID)/task"
            return try FileManager.default.contentsOfDirectory(atPath: tasks).contains {
                // `pause` is 34 on x86-64; elsewhere it is a `ppoll` without descriptors.
                let call = try? String(contentsOfFile: "\(tasks)/\($0)/syscall", encoding: .utf8)
                return call?.hasPrefix("34 ") == true || call?.hasPrefix("73 0x0 0x0 ") == true
            }
        }
        while try !isInDestroy(), !Task.isCancelled { await Task.yield() }
        program.signal(15)
        let result = try await program.result()
        let message = "GET \(url): after the exchange: terminated"
        #expect(result.exitCode == 143)
        #expect(result.errorOutput.contains("outlet: \(message)\n"), "\(result.errorOutput)")
        guard options == ["--json"] else { return }
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["exit_code"] == 143 && report["error"]?["code"] == "cancelled")
        #expect(report["error"]?["message"]?.stringValue == message)
        #expect(report["response"]?["status"] == 200)
    }

    @Test func `the time limit names an output whose reader is slow`() async throws {
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c",
                // Each read takes less than the time after which a reader counts as stopped.
                #"""
                { "$0" -I --timeout=1 "$1"; echo $? >&2; } |
                while [ "$(head -c 20000 | wc -c)" -gt 0 ]; do sleep 0.1; done
                """#, Products.path("outlet"), "\(server.baseURL)/bytes/\(10 * Self.size)",
            ])
        let names = ["; writing to stdout took ", ": stdout has accepted nothing for "]
        #expect(names.contains { result.errorOutput.contains($0) }, "\(result.errorOutput)")
        #expect(result.errorOutput.hasSuffix("\n2\n"), "\(result.errorOutput)")
    }

    @Test func `a report that is being read is written completely after the timeout`() async throws
    {
        let slow = try ScriptedServer.start(
            .request,
            .send(
                Array("HTTP/1.1 200 OK\r\nContent-Length: \(Self.size)\r\n\r\n".utf8)
                    + [UInt8](repeating: 0xFF, count: Self.size - 1)), .stall)
        let result = try await start("--json", slow.baseURL, "--timeout=0.5").result()
        #expect(result.exitCode == 2)
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["error"]?["code"] == "timedOut")
    }

    @Test(arguments: [
        ["http://"], ["plugins", "check", "/nonexistent"], ["plugins", "list", "x", "y"],
    ])
    func `a signal ends the program while the error of its command line cannot be written`(
        arguments: [String]
    ) async throws {
        // Fills the pipe, so that the write of the error blocks.
        let program = try RunningProgram(
            "/bin/sh",
            [
                "-c", #"head -c 65536 /dev/zero; exec "$0" "$@" 2>&1 <&-"#, Products.path("outlet"),
            ] + arguments, standardOutput: .unread(after: 0))
        func isWriting() -> Bool {
            let call = try? String(
                contentsOfFile: "/proc/\(program.processID)/syscall", encoding: .utf8)
            let name = try? String(
                contentsOfFile: "/proc/\(program.processID)/comm", encoding: .utf8)
            return call?.hasPrefix("1 ") == true && name == "outlet\n"
        }
        while !isWriting(), !Task.isCancelled { await Task.yield() }
        program.signal(15)
        #expect(try await program.result(within: .seconds(30)).exitCode == 143)
    }
}

import FoundationEssentials
import Glibc
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// The bodies that the program sends and receives.
@Suite struct BodyTests {
    private let server: LoopbackServer

    init() throws { server = try LoopbackServer.start() }

    @Test func `without a terminal stdout has only the bytes of the body`() async throws {
        let result = try await outlet("\(server.baseURL)/bytes/100000")
        #expect(result.standardOutput == LoopbackServer.bytes(100_000))
    }

    @Test func `the file - is standard output`() async throws {
        let directory = try TemporaryDirectory()
        let result = try await Program.run(
            Products.path("outlet"), ["\(server.baseURL)/bytes/1000", "-o", "-"],
            directory: directory.path)
        #expect(result.exitCode == 0 && result.standardOutput.count == 1000)
        #expect(directory.names == [])
    }

    @Test func `a file that reports no size is sent to its end`() async throws {
        let content = try Data(contentsOf: URL(filePath: "/proc/version"))
        let counted = try ScriptedServer.start(.request, .respond(), .again)
        let named = try await outlet("POST", counted.baseURL, "@/proc/version")
        #expect(named.exitCode == 0, "\(named.errorOutput)")
        let piped = try await Program.run(
            "/bin/sh",
            [
                "-c", "exec \"$0\" POST \"$1\" < /proc/version", Products.path("outlet"),
                counted.baseURL,
            ])
        #expect(piped.exitCode == 0, "\(piped.errorOutput)")
        let text = String(decoding: content, as: UTF8.self)
        let bodies = counted.requests.values.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.count == 2 && bodies.allSatisfy { $0.contains(text) }, "\(bodies)")
    }

    @Test(arguments: ["@\"$2\"", "<\"$2\""])
    func `a file of sys, which is shorter than its size, is sent to its end`(
        body: String
    ) async throws {
        let path = "/sys/kernel/mm/transparent_hugepage/enabled"
        let content = try Data(contentsOf: URL(filePath: path))
        try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 4096)
        let server = try ScriptedServer.start(.request, .respond())
        let result = try await Program.run(
            "/bin/sh",
            ["-c", "\"$0\" POST \"$1\" \(body)", Products.path("outlet"), server.baseURL, path])
        #expect(result.exitCode == 0, "\(result.errorOutput)")
        let sent = server.requests.values.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(sent.first?.contains(String(decoding: content, as: UTF8.self)) == true, "\(sent)")
    }

    @Test func `with --quiet only errors are printed`() async throws {
        let directory = try TemporaryDirectory()
        let silent = try ScriptedServer.start { _ in
            [.request, .send("HTTP/1.1 204 X\r\n\r\n"), .again]
        }
        let file = try directory.write("old", to: "body")
        let saved = try await outlet("-q", silent.baseURL, "-o", file)
        #expect(saved.exitCode == 0 && saved.errorOutput == "")
        let waiting = try RunningProgram(
            Products.path("outlet"), ["-q", silent.baseURL, "--timeout=2.5"], standardInput: .open)
        let late = try await waiting.result()
        #expect(late.exitCode == 2)
        let message = late.errorOutput
        #expect(!message.contains("waiting") && message.contains("not at its end"))
    }

    @Test(
        arguments: [
            (0, 64 << 20, "became shorter"), (70 << 20, 64 << 20, "became longer"),
            (64 << 20, 64 << 20, "was written to"),
        ], ["@file", "<"])
    func `the error for a file that changes while it is sent names it`(
        change: (size: Int, initial: Int, fact: String), source: String
    ) async throws {
        let (began, changed) = (try Gate(), try Gate())
        let slow = try ScriptedServer.start(
            .requestHead, .open(began), .wait(changed), .stall)
        let directory = try TemporaryDirectory()
        let path = try directory.write("", to: "file")
        truncate(path, change.initial)
        let line = source == "<" ? #"exec "$0" PUT "$1" < "$2""# : #"exec "$0" PUT "$1" "@$2""#
        async let ended = Program.run(
            "/bin/sh", ["-c", line, Products.path("outlet"), slow.baseURL, path])
        try await began.opened()
        if change.size == change.initial {
            var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
            utimensat(AT_FDCWD, path, &times, 0)
        } else {
            truncate(path, change.size)
        }
        changed.open()
        let result = try await ended
        #expect(result.exitCode == 1)
        let name = source == "<" ? "stdin: the file" : "\(path):"
        #expect(result.errorOutput.contains("\(name) \(change.fact)"), "\(result.errorOutput)")
    }

    @Test func `a link to a file that does not exist yet is followed by -o`() async throws {
        let directory = try TemporaryDirectory()
        try #require(symlink("body", directory.path("link")) == 0)
        let result = try await outlet("\(server.baseURL)/bytes/10", "-o", directory.path("link"))
        #expect(result.exitCode == 0, "\(result.errorOutput)")
        #expect(try directory.read("body") == LoopbackServer.bytes(10))
    }

    @Test(arguments: ["<", "cat"], ["a=@/dev/stdin", "a=@/dev/fd/0"])
    func `a value from stdin is not sent as the body, too`(source: String, item: String)
        async throws
    {
        let counted = try ScriptedServer.start(.request, .respond())
        let directory = try TemporaryDirectory()
        let path = try directory.write("x", to: "value")
        let line =
            source == "<" ? #"exec "$0" "$1" "$2" < "$3""# : #"cat "$3" | "$0" "$1" "$2""#
        let result = try await Program.run(
            "/bin/sh", ["-c", line, Products.path("outlet"), counted.baseURL, item, path])
        #expect(result.exitCode == 0, "\(result.errorOutput)")
        let body = try await counted.requests.values(1)[0].body
        #expect(String(decoding: body, as: UTF8.self) == #"{"a":"x"}"#)
    }

    @Test func `the advice for stdin as a file of the body is to leave it out`() async throws {
        for item in ["@-", "@/dev/stdin"] {
            let result = try await outlet(":1/", item, standardInput: Array("x".utf8))
            #expect(result.exitCode == 64)
            #expect(
                result.errorOutput.contains("stdin is the body without an item"),
                "\(result.errorOutput)")
        }
    }

    @Test func `half of a surrogate pair in a body is JSON`() async throws {
        let text = #"{"a":"\ud800"}"#
        let half = try ScriptedServer.start(
            .request, .respond(headers: ["Content-Type: application/json"], body: text), .again)
        let shown = try await outlet("--pretty=format", half.baseURL)
        #expect(shown.exitCode == 0 && shown.output == "{\n    \"a\": \"\\ud800\"\n}\n")
        let report = try await outlet("--json", half.baseURL)
        #expect(report.exitCode == 0 && report.output.contains(#""body":{"json":\#(text)}"#))
        // It is no text that could be sent with a meaning.
        let item = try await outlet(half.baseURL, #"a:="\ud800""#)
        #expect(item.exitCode == 64 && item.errorOutput.contains("half of a surrogate pair"))
    }

    @Test func `with -o the body is written to the file, and stdout is empty`() async throws {
        let directory = try TemporaryDirectory()
        let result = try await outlet(
            "\(server.baseURL)/bytes/1000", "-o", directory.path("body"))
        #expect(result.exitCode == 0)
        #expect(result.output == "")
        #expect(try directory.read("body") == LoopbackServer.bytes(1000))
    }

    @Test func `the error for an output file that cannot be created names it`() async throws {
        let result = try await outlet("\(server.baseURL)/get", "-o", "/nonexistent/body")
        #expect(result.exitCode == 1)
        #expect(
            result.errorOutput
                == "outlet: /nonexistent/body: cannot be written: No such file or directory\n")
        let report = try await outlet("--json", "\(server.baseURL)/get", "-o", "/nonexistent/body")
        #expect(report.exitCode == 1)
        let value = try JSONValue(parsing: report.standardOutput)
        #expect(value["error"]?["code"] == "cannotWriteToFile")
    }

    @Test func `no request is sent for an output file that cannot be written`() async throws {
        let counted = try ScriptedServer.start(.request, .respond(body: "done"))
        let directory = try TemporaryDirectory()
        for (name, target) in [("link", "next"), ("next", "none/body"), ("loop", "loop")] {
            try #require(symlink(target, directory.path(name)) == 0)
        }
        for (place, fact) in [
            ("/nonexistent/body", "No such file or directory"),
            (directory.path(""), "Is a directory"),
            (directory.path("file/body"), "Not a directory"),
            (directory.path("link"), "No such file or directory"),
            (directory.path("loop"), "Too many levels of symbolic links"),
        ] {
            _ = try directory.write("x", to: "file")
            let result = try await outlet("POST", counted.baseURL, "a=1", "-o", place)
            #expect(result.exitCode == 1)
            #expect(result.errorOutput == "outlet: \(place): cannot be written: \(fact)\n")
        }
        #expect(counted.connections.values.isEmpty)
        let relative = try await Program.run(
            Products.path("outlet"), [counted.baseURL, "-o", "body"],
            directory: directory.path(""))
        #expect(relative.exitCode == 0)
        #expect(try directory.read("body") == Array("done".utf8))
    }

    @Test func `an empty body truncates the output file`() async throws {
        let directory = try TemporaryDirectory()
        _ = try directory.write("old", to: "body")
        let result = try await outlet(
            "\(server.baseURL)/bytes/0", "-o", directory.path("body"))
        #expect(result.exitCode == 0)
        #expect(try directory.read("body").isEmpty)
    }

    @Test(
        arguments: [
            ("GET", "/status/204", 0), ("GET", "/status/205", 0), ("GET", "/status/304", 3),
            ("GET", "/status/401", 4), ("HEAD", "/get", 0),
        ] as [(String, String, Int32)])
    func `a response without a body leaves the output file as it is`(
        method: String, path: String, code: Int32
    ) async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("body")
        _ = try directory.write("old", to: "body")
        let silent = try ScriptedServer.start(
            .requestHead, .send("HTTP/1.1 \(path.suffix(3)) X\r\nContent-Length: 0\r\n\r\n"))
        let base = path == "/get" ? server.baseURL + path : silent.baseURL
        for report in [[], ["--json"]] {
            let result = try await Program.run(
                Products.path("outlet"), report + [method, base, "-o", file])
            #expect(result.exitCode == code)
            let note = "outlet: \(file): not written, because the response has no body\n"
            let hasStatus = code != 0 && report.isEmpty
            let status = "outlet: \(base): \(path.suffix(3)) X\n"
            #expect(result.errorOutput == note + (hasStatus ? status : ""))
            #expect(try directory.read("body") == Array("old".utf8))
            #expect(!result.output.contains(file))
        }
    }

    @Test func `a report stays valid JSON when its temporary file cannot be written`() async throws
    {
        let result = try await Program.run(
            "/usr/bin/env",
            [
                "--default-signal=XFSZ", "/bin/sh", "-c",
                #"ulimit -f 3000; exec "$0" --json "$1""#, Products.path("outlet"),
                server.baseURL + "/bytes/4000000",
            ])
        #expect(result.exitCode == 1)
        let value = try JSONValue(parsing: result.standardOutput)
        #expect(value["error"]?["message"]?.stringValue?.contains("File too large") == true)
        #expect(value["response"]?["status"] == 200)
        #expect(value["response"]?["body"] == .null)
    }

    @Test func `an error of the temporary file names its directory and TMPDIR`() async throws {
        let result = try await outlet(
            "--json", server.baseURL + "/bytes/4000000", environment: ["TMPDIR": "/proc/none"])
        #expect(result.exitCode == 1)
        #expect(
            result.errorOutput
                == "outlet: a temporary file in /proc/none: cannot be written: No such file or "
                + "directory (set TMPDIR to a directory that can be written to)\n")
    }

    @Test func `a lost connection keeps the received bytes in the file and reports their number`()
        async throws
    {
        let broken = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
        let directory = try TemporaryDirectory()
        let result = try await outlet(broken.baseURL, "-o", directory.path("body"))
        #expect(result.exitCode == 1)
        #expect(try directory.read("body") == Array("half".utf8))
        #expect(result.errorOutput.contains("\(directory.path("body")) holds the first 4 B)\n"))
    }

    @Test(arguments: ["413 Too Large", "401 No", "200 OK"])
    func `the answer to a body from a silent stdin is shown at once`(status: String) async throws {
        let server = try ScriptedServer.start(
            .requestHead,
            .send("HTTP/1.1 \(status)\r\nContent-Length: 6\r\nConnection: close\r\n\r\nanswer"))
        let program = try RunningProgram(
            Products.path("outlet"), ["--chunked", "-p", "hb", server.baseURL],
            standardInput: .open)
        try await program.output(containing: "HTTP/1.1 \(status.prefix(3))")
        try await program.output(containing: "answer")
        program.closeInput()
        _ = try await program.result()
    }

    @Test func `the time limit names a stdin that is silent`() async throws {
        let server = try ScriptedServer.start(.requestHead, .stall)
        let program = try RunningProgram(
            Products.path("outlet"), ["--chunked", "--timeout=1", server.baseURL],
            standardInput: .open)
        let result = try await program.result()
        #expect(result.exitCode == 2)
        #expect(
            result.errorOutput.contains("within 1.0 s, stdin is not at its end")
                || result.errorOutput.contains("it waited for stdin"),
            "\(result.errorOutput)")
    }

    @Test func `a body is written to stdout while it is received`() async throws {
        let gate = try Gate()
        let slow = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"), .wait(gate),
            .send("more"))
        let program = try RunningProgram(Products.path("outlet"), [slow.baseURL])
        try await program.output(containing: "half")
        gate.open()
        let result = try await program.result()
        #expect(result.output == "halfmore")
        #expect(result.exitCode == 0)
    }

    @Test func `fields are posted as JSON`() async throws {
        let sent = try await echo("\(server.baseURL)/anything", "a=1", "b:=[true]", "X-A:y")
        #expect(sent["method"] == "POST")
        #expect(sent["json"] == ["a": "1", "b": [true]])
        #expect(sent["headers"]?["Content-Type"] == "application/json")
        #expect(sent["headers"]?["Accept"] == "application/json, */*;q=0.5")
        #expect(sent["headers"]?["X-A"] == "y")
    }

    @Test func `fields are posted as a form with -f`() async throws {
        let sent = try await echo("\(server.baseURL)/post", "-f", "a=1 2", "b=&")
        #expect(sent["form"] == ["a": "1 2", "b": "&"])
    }

    @Test func `query items and headers are sent, and default headers can be removed`() async throws
    {
        let sent = try await echo(
            "\(server.baseURL)/get", "q==a b", "User-Agent:", "Empty;", "Accept:text/x")
        #expect(sent["args"] == ["q": "a b"])
        #expect(sent["headers"]?["User-Agent"] == nil)
        #expect(sent["headers"]?["Empty"] == "")
        #expect(sent["headers"]?["Accept"] == "text/x")
    }

    @Test func `stdin is sent as the body`() async throws {
        let result = try await outlet(
            "\(server.baseURL)/anything", standardInput: Array(#"{"n":1}"#.utf8))
        let sent = try JSONValue(parsing: result.standardOutput)
        #expect(sent["method"] == "POST")
        #expect(sent["json"] == ["n": 1])
    }

    @Test func `with --ignore-stdin the program does not read stdin`() async throws {
        let result = try await outlet(
            "\(server.baseURL)/anything", "--ignore-stdin", standardInput: Array("x".utf8))
        #expect(try JSONValue(parsing: result.standardOutput)["method"] == "GET")
    }

    @Test func `fields together with data on stdin are refused`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("x", to: "in")
        let result = try await Program.run(
            "/bin/sh",
            ["-c", #""$0" :1/ a=1 <"$1""#, Products.path("outlet"), file])
        #expect(result.exitCode == 64)
        #expect(
            result.errorOutput
                == "outlet: stdin: a second body beside the items "
                + "(--ignore-stdin leaves it unread)\n")
    }

    @Test func `an open stdin pipe without data does not block a body of items`() async throws {
        let program = try RunningProgram(
            Products.path("outlet"), ["\(server.baseURL)/anything", "a=1"], standardInput: .open)
        let result = try await program.result(within: .seconds(60))
        #expect(result.exitCode == 0)
    }

    @Test func `a body file is sent completely`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("hello", to: "text")
        let sent = try await echo("PUT", "\(server.baseURL)/put", "@\(file)")
        #expect(sent["data"] == "hello")
    }

    @Test func `a named pipe as body file is refused`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let pipe = directory.path("pipe")
        _ = try await Program.run("/usr/bin/mkfifo", [pipe])
        let result = try await outlet("\(server.baseURL)/post", "@\(pipe)")
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains("a named pipe"))
    }

    @Test func `a user and password are sent as Basic authentication`() async throws {
        let address = "127.0.0.1:\(server.port)/basic-auth/u/p"
        #expect(try await outlet("u:p@\(address)").exitCode == 0)
        #expect(try await outlet(address, "--auth", "u:p").exitCode == 0)
        #expect(try await outlet(address, "--auth", "u:x").exitCode == 4)
    }

    @Test func `invalid JSON exits with 1 if JSON output is requested`() async throws {
        let body = #"{"a": nope}"#
        let broken = try ScriptedServer.start(
            .request, .respond(headers: ["Content-Type: application/json"], body: body))
        let fault =
            "\(broken.baseURL): the body claims to be application/json: "
            + "not JSON at byte 7 (line 1, column 8): found 'o', expected 'null'"

        let report = try await outlet("--json", broken.baseURL)
        #expect(report.exitCode == 1)
        #expect(report.errorOutput == "outlet: \(fault)\n")
        let value = try JSONValue(parsing: report.standardOutput)
        #expect(value["error"]?["code"] == "cannotDecodeJSON")
        #expect(value["response"]?["body"] == ["text": .string(body)])

        let pretty = try await outlet("--pretty=format", broken.baseURL)
        #expect(pretty.exitCode == 1)
        #expect(pretty.output == "{\n    \"a\": nope}")
        #expect(pretty.errorOutput == "outlet: \(fault)\n")

        let raw = try await outlet(broken.baseURL)
        #expect(raw.exitCode == 0)
        #expect(raw.output == body)
    }

    private func echo(_ arguments: String...) async throws -> JSONValue {
        let result = try await Program.run(Products.path("outlet"), arguments)
        #expect(result.errorOutput == "")
        return try JSONValue(parsing: result.standardOutput)
    }
}

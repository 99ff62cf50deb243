import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// The program processes bodies of any size in pieces, without storing them in memory.
@Suite struct StreamingTests {
    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "

    @Test(arguments: ["text/plain", "text/event-stream"])
    func `a terminal gets the head and text before the end of the body`(type: String) async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .request, .send("\(Self.chunked)\(type)\r\n\r\n8\r\ndata: 1\n\r\n"), .wait(gate),
            .send("8\r\ndata: 2\n\r\n0\r\n\r\n"))
        let program = try terminal(server.baseURL)
        let early = try await program.output(containing: "data: 1\r\n")
        #expect(early.hasPrefix("HTTP/1.1 200 OK\r\n"))
        gate.open()
        let result = try await program.result()
        #expect(result.output.hasSuffix("data: 1\r\ndata: 2\r\n"))
        #expect(result.exitCode == 0)
    }

    @Test func `JSON is formatted while it is received`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .request, .send("\(Self.chunked)application/json\r\n\r\n5\r\n[1,{}\r\n"), .wait(gate),
            .send("1\r\n]\r\n0\r\n\r\n"))
        let program = try RunningProgram(
            Products.path("outlet"), ["--pretty=format", server.baseURL])
        try await program.output(containing: "[\n    1,\n    {}")
        gate.open()
        #expect(try await program.result().output == "[\n    1,\n    {}\n]\n")
    }

    @Test(arguments: [("\n", "\n"), (" \r\n\t", "\n"), (" ", " "), ("", "")])
    func `formatted JSON keeps apart the values of a body that has several`(
        between: String, shown: String
    ) async throws {
        let values = try ScriptedServer.start(
            .request,
            .respond(
                headers: ["Content-Type: application/json"],
                body: "{\"a\":1}\(between){\"a\":2}\n"))
        let result = try await outlet("--pretty=format", values.baseURL)
        #expect(result.exitCode == 1)
        #expect(result.output == "{\n    \"a\": 1\n}\(shown){\"a\":2}\n")
    }

    @Test(arguments: ["-h", "--print=Hh"])
    func `with -h the program does not wait for the body`(option: String) async throws {
        let server = try ScriptedServer.start(
            .request, .send("\(Self.chunked)text/plain\r\n\r\n1\r\nx\r\n"), .stall)
        let result = try await outlet(option, server.baseURL)
        #expect(result.exitCode == 0)
        #expect(result.output.contains("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n"))
        #expect(result.errorOutput == "")
    }

    @Test func `a redirect is followed without receiving its long body`() async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [
                    .request, .send("HTTP/1.1 302 Elsewhere\r\nLocation: /there\r\n\r\n"),
                    .send([UInt8](repeating: 0x2E, count: 2 << 20)), .stall,
                ] : [.request, .respond(body: "there")]
        }
        let result = try await outlet("--follow", server.baseURL)
        #expect(result.exitCode == 0)
        #expect(result.output == "there")
    }

    @Test func `with -h the exit code is that of the status`() async throws {
        let server = try LoopbackServer.start()
        #expect(try await outlet("-h", "\(server.baseURL)/status/404").exitCode == 4)
    }

    @Test func `control characters are escaped for a terminal and unchanged for a pipe`()
        async throws
    {
        let body = "\u{1B}]0;x\u{07} \u{9B}2J \u{202E}"
        let server = try ScriptedServer.start { _ in
            [.request, .respond(headers: ["Content-Type: text/plain"], body: body)]
        }
        let shown = try await terminal("-b", server.baseURL).result().output
        #expect(shown == "^[]0;x^G <U+009B>2J <U+202E>\r\n")
        #expect(try await outlet(server.baseURL).output == body)
    }

    @Test func `formatted JSON keeps the escapes of control characters`() async throws {
        let server = try ScriptedServer.start { _ in
            [
                .request,
                .respond(
                    headers: ["Content-Type: application/json"], body: #"["\u009b\u202e\u00e9"]"#),
            ]
        }
        let shown = try await terminal("-b", server.baseURL).result().output
        #expect(shown == "[\r\n    \"\\u009b\\u202eé\"\r\n]\r\n")
        let report = try await terminal("--json", server.baseURL).result().output
        #expect(report.contains(#""\u009b\u202eé""#))
    }

    @Test(arguments: [
        (type: "application/json", body: #"{"a": nope}"#, code: 0),
        (type: "application/json", body: #"{"a": 1}"#, code: 0),
        (type: "text/plain", body: "a\u{00}b", code: 0),
        (type: "text/plain", body: "text", code: 0),
    ])
    func `the exit code is the same with and without a terminal`(
        type: String, body: String, code: Int32
    ) async throws {
        let server = try ScriptedServer.start { _ in
            [.request, .respond(headers: ["Content-Type: \(type)"], body: body)]
        }
        #expect(try await outlet(server.baseURL).exitCode == code)
        #expect(try await terminal(server.baseURL).result().exitCode == code)
    }

    @Test func `a truncated body exits with 1 with and without a terminal`() async throws {
        let server = try ScriptedServer.start { _ in
            [.request, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\u{00}half")]
        }
        #expect(try await outlet(server.baseURL).exitCode == 1)
        let shown = try await terminal(server.baseURL).result()
        #expect(shown.exitCode == 1)
        #expect(shown.output.contains("(5 B of binary data: -o FILE saves it)\r\noutlet: "))
    }

    @Test(arguments: [
        (["--json"], "application/octet-stream"), (["--json"], "application/json"),
        (["--pretty=all"], "application/json"), (["--print=m"], "text/plain"),
        (["-q"], "text/plain"), ([], "text/plain"),
    ])
    func `memory does not grow with the body`(options: [String], type: String) async throws {
        let size = 12 << 20
        // If the body is JSON, it is a single string of this size.
        let body =
            [UInt8(ascii: "\"")] + [UInt8](repeating: 0x78, count: size - 2) + [UInt8(ascii: "\"")]
        let head = "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(size)\r\n\r\n"
        let (isAsked, answers, isSent, mayEnd) = try (Gate(), Gate(), Gate(), Gate())
        let server = try ScriptedServer.start(
            .request, .open(isAsked), .wait(answers), .send(Array(head.utf8) + body.dropLast()),
            .open(isSent), .wait(mayEnd), .send([UInt8](body.suffix(1))))
        let program = try RunningProgram(Products.path("outlet"), options + [server.baseURL])
        try await isAsked.opened()
        let before = try #require(ProcessResources.peakMemory(of: program.processID))
        answers.open()
        // The program has then read the body, except the part in the sockets' buffers.
        try await isSent.opened(within: .seconds(60))
        let after = try #require(ProcessResources.peakMemory(of: program.processID))
        #expect(after - before < 8 << 20)
        mayEnd.open()
        #expect(try await program.result().exitCode == 0)
    }

    @Test func `a report contains a body of any size and type`() async throws {
        for size in [0, 1, 1 << 20, (1 << 20) + 1, 3_000_000] {
            let text = [UInt8](repeating: UInt8(ascii: "\n"), count: size)
            let report = try await report(of: text, type: "text/plain")
            #expect(report["text"]?.stringValue.map { Array($0.utf8) } ?? [] == text)
            let bytes = [UInt8](repeating: 0xFF, count: size)
            let base64 = try await self.report(of: bytes, type: "text/plain")["base64"]?.stringValue
            #expect(base64.flatMap { Data(base64Encoded: $0) } ?? Data() == Data(bytes))
        }
        let json = try await report(of: Array("\u{FEFF}[1,\n{}]".utf8), type: "application/json")
        #expect(json == ["json": [1, [:]]])
    }

    @Test func `a report contains no body above the limit`() async throws {
        let server = try ScriptedServer.start { _ in [.request, .respond(body: "12345")] }
        #expect(try await outlet("--json", "--max-response-size=5", server.baseURL).exitCode == 0)
        let result = try await outlet("--json", "--max-response-size=4", server.baseURL)
        #expect(result.exitCode == 1)
        #expect(
            result.errorOutput.hasSuffix(
                "larger than the limit of 4 bytes (raise --max-response-size, or write it to a file "
                    + "with -o)\n"))
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["exit_code"] == 1)
        #expect(report["error"]?["code"] == "dataLengthExceedsMaximum")
    }

    // MARK: stdin

    @Test func `a long body on stdin is sent while it is read`() async throws {
        let directory = try TemporaryDirectory()
        let size = 3 << 20
        let file = try directory.write([UInt8](repeating: 0x78, count: size), to: "in")
        for (command, field) in [
            (#""$0" "$1" <"$2""#, "content-length: \(size)"),
            (#"cat "$2" | "$0" "$1""#, "transfer-encoding: chunked"),
        ] {
            let server = try ScriptedServer.start(.request, .respond())
            let result = try await Program.run(
                "/bin/sh", ["-c", command, Products.path("outlet"), server.baseURL, file])
            #expect(result.exitCode == 0)
            let request = try #require(server.requests.values.first)
            #expect(request.head.lowercased().contains("\r\n\(field)\r\n"))
        }
    }

    @Test(arguments: ["body", ""])
    func `trailers are printed after the body, and are in the report`(body: String) async throws {
        let chunk = body.isEmpty ? "" : "4\r\nbody\r\n"
        let answer =
            "\(Self.chunked)text/plain\r\n\r\n\(chunk)0\r\nX-Sum: \u{1B}[1m\r\nX-Key: k\r\n\r\n"
        func run(_ options: String...) async throws -> String {
            let server = try ScriptedServer.start(.request, .send(answer), .stall)
            let result = try await Program.run(
                Products.path("outlet"), options + [server.baseURL])
            #expect(result.exitCode == 0)
            return result.output
        }
        let shown = try await run("-p", "hb")
        #expect(
            shown.hasSuffix("\n\n\(body)\(body.isEmpty ? "" : "\n\n")X-Sum: ^[[1m\nX-Key: •••\n"))
        #expect(try await run() == body)
        let report = try JSONValue(parsing: Data(try await run("--json").utf8))
        #expect(report["response"]?["trailers"]?[1] == ["name": "X-Key", "value": "•••"])
    }

    @Test func `with --chunked stdin is sent with chunked transfer encoding`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let program = try RunningProgram(
            Products.path("outlet"), ["--chunked", server.baseURL],
            standardInput: .bytes(Array("text".utf8)))
        #expect(try await program.result().exitCode == 0)
        let request = try #require(server.requests.values.first)
        #expect(request.head.contains("\r\nTransfer-Encoding: chunked\r\n"))
        #expect(request.body == Array("4\r\ntext\r\n0\r\n\r\n".utf8))
    }

    @Test func `the timeout and SIGINT end a request with a silent stdin`()
        async throws
    {
        let server = try ScriptedServer.start { _ in [.requestHead, .stall] }
        let late = try RunningProgram(
            Products.path("outlet"), ["--chunked", "--timeout=0.3", server.baseURL],
            standardInput: .open)
        #expect(try await late.result(within: .seconds(60)).exitCode == 2)
        let waiting = try RunningProgram(
            Products.path("outlet"), ["--chunked", server.baseURL], standardInput: .open)
        _ = try await server.connections.values(2)
        waiting.signal(2)
        #expect(try await waiting.result(within: .seconds(60)).exitCode == 130)
    }

    @Test func `a device is read as stdin like a pipe, and the null device gives no body`()
        async throws
    {
        let server = try ScriptedServer.start { connection in
            connection == 0 ? [.requestHead, .stall] : [.request, .respond()]
        }
        let endless = try await shell(#""$0" --timeout=1 "$1" </dev/zero"#, server.baseURL)
        #expect(endless.exitCode == 2)
        #expect(try await shell(#""$0" "$1" </dev/null"#, server.baseURL).exitCode == 0)
        #expect(try await shell(#""$0" --chunked "$1" </dev/null"#, server.baseURL).exitCode == 0)
        let requests = try await server.requests.values(3)
        #expect(requests[0].head.contains("\r\nTransfer-Encoding: chunked\r\n"))
        #expect(requests[1].head.hasPrefix("GET / "))
        #expect(requests[2].head.hasPrefix("POST / "))
        #expect(requests[2].body == Array("0\r\n\r\n".utf8))
        let second = try await shell(#""$0" "$1" a=1 </dev/zero"#, server.baseURL)
        #expect(second.exitCode == 64)
    }

    @Test(arguments: ["a=1", "--raw=x", "--ignore-stdin"])
    func `the option --chunked with a body of items is refused`(argument: String) async throws {
        let result = try await outlet("--chunked", ":1/", argument)
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.hasPrefix("outlet: --chunked: "))
    }

    @Test func `the error for an unreadable stdin names it`() async throws {
        let result = try await shell(#""$0" "$1" </"#, ":1/")
        #expect(result.exitCode == 1)
        #expect(result.errorOutput == "outlet: stdin: cannot be read: Is a directory\n")
    }

    @Test func `a stdin that is not open for reading, as nohup makes it, gives no body`()
        async throws
    {
        let server = try ScriptedServer.start { _ in [.request, .respond()] }
        let result = try await shell(#""$0" "$1" 0>/dev/null"#, server.baseURL)
        #expect(result.exitCode == 0 && result.errorOutput == "")
        #expect(try await shell(#""$0" "$1" a=1 0>/dev/null"#, server.baseURL).exitCode == 0)
        let requests = try await server.requests.values(2)
        #expect(requests[0].head.hasPrefix("GET ") && requests[1].head.hasPrefix("POST "))
        let asked = try await shell(#""$0" --chunked "$1" 0>/dev/null"#, server.baseURL)
        #expect(asked.exitCode == 64)
        #expect(
            asked.errorOutput == "outlet: --chunked: stdin is not open for reading (a pipe or a "
                + "file gives the body)\n")
    }

    @Test func `the error for a stdin that fails while it is sent has one prefix`() async throws {
        let server = try LoopbackServer.start()
        let url = server.baseURL + "/post"
        let result = try await shell(#""$0" --chunked "$1" </"#, url)
        #expect(result.exitCode == 1)
        #expect(
            result.errorOutput == "outlet: POST \(url): stdin: cannot be read: Is a directory\n")
    }

    @Test func `a body from stdin cannot be sent again after a redirect`() async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .respond("307 Temporary Redirect", headers: ["Location: /again"])]
                : [.request, .respond()]
        }
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", #"head -c 2000000 /dev/zero | "$0" --follow "$1""#, Products.path("outlet"),
                server.baseURL,
            ])
        #expect(result.exitCode == 1)
        #expect(
            result.errorOutput.contains(
                "its stream cannot go back: stdin: 2000000 bytes of it are sent and cannot be read "
                    + "again (a file, with @FILE, can be sent again)\n"), "\(result.errorOutput)")
    }

    private func report(of body: [UInt8], type: String) async throws -> JSONValue {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(body.count)\r\n\r\n"
        let server = try ScriptedServer.start(.request, .send(Array(head.utf8) + body))
        let result = try await outlet("--json", server.baseURL)
        return try JSONValue(parsing: result.standardOutput)["response"]?["body"] ?? .null
    }

    /// Runs a shell command in which `$0` is the program.
    private func shell(_ line: String, _ arguments: String...) async throws -> Program.Result {
        try await Program.run("/bin/sh", ["-c", line, Products.path("outlet")] + arguments)
    }

    private func terminal(_ arguments: String...) throws -> RunningProgram {
        try RunningProgram(
            Products.path("outlet"), arguments,
            standardOutput: .terminal(columns: 80))
    }
}

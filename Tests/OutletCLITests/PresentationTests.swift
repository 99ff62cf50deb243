import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

@testable import OutletHTTP

/// The output of the program for terminals and for other programs.
@Suite struct PresentationTests {
    private let server: LoopbackServer

    init() throws { server = try LoopbackServer.start() }

    @Test func `the first line of --version is the program's version`() async throws {
        let result = try await outlet("--version")
        #expect(result.exitCode == 0)
        #expect(result.output.hasPrefix("outlet \(outletVersion)\n"))
    }

    @Test(arguments: [
        ["--help"], ["help"], ["plugins", "--help"], ["help", "demo"], ["--help", ":"],
    ])
    func `help goes to stdout`(arguments: [String]) async throws {
        let result = try await Program.run(Products.path("outlet"), arguments)
        #expect(result.exitCode == 0)
        #expect(result.output.hasPrefix("outlet"))
        #expect(result.errorOutput == "")
    }

    @Test func `the report is one JSON object in the documented schema`() async throws {
        let result = try await outlet("--json", "\(server.baseURL)/get", "a==1")
        let value = try JSONValue(parsing: result.standardOutput)
        #expect(
            value.objectValue?.map(\.name)
                == [
                    "schema", "request", "response", "metrics", "plugins", "plugin_failures",
                    "plugin_status", "violations", "error", "exit_code",
                ])
        #expect(value["schema"] == "outlet.exchange/1")
        #expect(value["request"]?["url"] == .string("\(server.baseURL)/get?a=1"))
        #expect(value["response"]?["status"] == 200)
        #expect(value["response"]?["body"]?["json"]?["args"] == ["a": "1"])
        let total = value["metrics"]?["total_us"]?.intValue
        #expect(total.map { $0 > 0 } == true)
        #expect(value["metrics"]?["remote_address"] == .string("127.0.0.1:\(server.port)"))
        #expect(value["exit_code"] == 0)
    }

    @Test func `the report has the failure of a request`() async throws {
        server.stop()
        let result = try await outlet("--json", "\(server.baseURL)/get")
        let value = try JSONValue(parsing: result.standardOutput)
        #expect(value["response"] == .null)
        #expect(value["error"]?["code"] == "cannotConnectToHost")
        #expect(value["error"]?["stage"] == "connecting")
        #expect(value["exit_code"] == 1)
        #expect(result.exitCode == 1)
    }

    @Test func `secrets are hidden without --show-secrets`() async throws {
        let hidden = try await outlet("-v", "\(server.baseURL)/get", "-a", "u:p", "token==t1")
        #expect(hidden.output.contains("GET /get?token=••• HTTP/1.1"))
        #expect(hidden.output.contains("Authorization: Basic •••"))
        let shown = try await outlet("--show-secrets", "-v", "\(server.baseURL)/get", "-a", "u:p")
        #expect(shown.output.contains("Authorization: Basic dTpw"))
    }

    @Test func `verbose shows both heads, the connection and the timing`() async throws {
        let result = try await outlet("-v", "\(server.baseURL)/get")
        for text in [
            "GET /get HTTP/1.1\nHost: 127.0.0.1:\(server.port)\n", "HTTP/1.1 200 OK\n",
            "Connection\n", "proxy       none", "Timing\n", "total",
        ] {
            #expect(result.output.contains(text))
        }
    }

    @Test func `no blank line stands before the metadata if no body is printed`() async throws {
        let alone = try await outlet("-p", "m", "\(server.baseURL)/get")
        #expect(alone.output.hasPrefix("Connection\n"))
        let below = try await outlet("-p", "hm", "\(server.baseURL)/get")
        #expect(below.output.contains("\n\nConnection\n") && !below.output.contains("\n\n\n"))
    }

    @Test func `verbose shows the fields that the transport adds, and the server's reason phrase`()
        async throws
    {
        let server = try ScriptedServer.start(
            .request, .respond("201 Made it: token=geheim", body: "x"), .again)
        let url = "\(server.baseURL)/p"
        let plain = try await outlet(
            "-v", url, "a=b", "Authorization:Bearer geheim", "X-Token:geheim")
        let sent = try await server.requests.values(1)[0].head
        for field in ["Authorization: Bearer •••", "X-Token: •••", "Content-Length: 9"] {
            #expect(plain.output.contains("\n\(field)\n"))
        }
        #expect(plain.output.contains("HTTP/1.1 201 Made it: token=•••\n"))
        #expect(!plain.output.contains("geheim"))
        let shown = try await outlet(
            "-v", "--show-secrets", url, "a=b", "Authorization:Bearer geheim", "X-Token:geheim")
        #expect(shown.output.hasPrefix(sent.replacing("\r\n", with: "\n")))
        #expect(shown.output.contains("HTTP/1.1 201 Made it: token=geheim\n"))
        let chunked = try await outlet("-v", "--chunked", url, standardInput: Array("x".utf8))
        #expect(chunked.output.contains("\nTransfer-Encoding: chunked\n"))
    }

    @Test func `verbose shows the request of a redirect that could not be sent`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond("302 Elsewhere", headers: ["Location: http://127.0.0.1:1/next"]))
        let result = try await outlet("-v", "-F", "\(server.baseURL)/first")
        #expect(result.output.hasPrefix("GET /next HTTP/1.1\nHost: 127.0.0.1:1\n"))
    }

    @Test func `the option -h prints only the response head, and -q prints nothing`() async throws {
        let head = try await outlet("-h", "\(server.baseURL)/get")
        #expect(head.output.hasPrefix("HTTP/1.1 200 OK\n"))
        #expect(!head.output.contains("{"))
        let quiet = try await outlet("-q", "\(server.baseURL)/get")
        #expect(quiet.output == "")
    }

    @Test func `a terminal gets the head, colours and formatted JSON`() async throws {
        let output = try await terminal(["TERM": "xterm"], "\(server.baseURL)/get")
        #expect(output.contains("\u{1B}[1m\u{1B}[32m200 OK"))
        #expect(output.contains("    \u{1B}[34m\"method\"\u{1B}[0m: \u{1B}[32m\"GET\"\u{1B}[0m"))
    }

    /// The JSON ends early: at a lost connection, or at a byte that is not JSON.
    @Test(arguments: [[], [0x01]] as [[UInt8]])
    func `coloured JSON that ends early is complete up to there and resets the colour`(
        end: [UInt8]
    ) async throws {
        let body = Array(#"{"né":[-1.5e3,"x\u00e9y€",true,{"a":null}]}"#.utf8)
        let broken = try ScriptedServer.start { count in
            let sent = body.prefix(count) + end
            let length = end.isEmpty ? body.count + 1 : sent.count
            let head = "Content-Type: application/json\r\nContent-Length: \(length)"
            return [.request, .send(Array("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n".utf8) + sent)]
        }
        for count in 0..<body.count {
            let output = try await terminal(["TERM": "xterm"], broken.baseURL, "-b")
            let colours = output.matches(of: /\u{1B}\[[0-9]*m/)
            #expect(colours.last.map { $0.output == "\u{1B}[0m" } ?? true, "\(count): \(output)")
            let plain = output.replacing(/\u{1B}\[[0-9]*m/, with: "")
            let shown = plain.prefix(
                upTo: plain.firstRange(of: "outlet: ")?.lowerBound ?? plain.endIndex)
            var text = TerminalText()
            var sent: [UInt8] = []
            (body.prefix(count) + end).withUnsafeBytes { text.append($0, to: &sent) }
            text.finish(to: &sent)
            #expect(
                shown.filter { !$0.isWhitespace }
                    == String(decoding: sent, as: UTF8.self).replacing("\\u00e9", with: "é"))
        }
    }

    @Test(arguments: [["NO_COLOR": "1", "TERM": "xterm"], ["TERM": "dumb"]])
    func `no colours are written with NO_COLOR or on a dumb terminal`(environment: [String: String])
        async throws
    {
        let output = try await terminal(environment, "\(server.baseURL)/get")
        #expect(!output.contains("\u{1B}"))
        #expect(output.contains("    \"method\": \"GET\""))
    }

    @Test func `a terminal shows a note about binary data instead of the data`() async throws {
        let output = try await terminal([:], "\(server.baseURL)/bytes/5000", "-b")
        #expect(output.contains("(4.88 KiB of binary data: -o FILE saves it)"))
    }

    @Test func `a terminal shows a waiting line, which is erased before the body`()
        async throws
    {
        let output = try await terminal(
            ["TERM": "xterm", "NO_COLOR": "1"], "\(server.baseURL)/delay/1.3", "-b")
        #expect(output.contains("\rwaiting  1."))
        #expect(output.contains("\r\u{1B}[K{"))
    }

    @Test func `a terminal shows the progress of a long download`() async throws {
        let slow = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n"),
            .trickle(Array(repeating: 0x78, count: 4096), size: 256, interval: .milliseconds(100)))
        let output = try await terminal(
            ["TERM": "xterm", "NO_COLOR": "1"], "-o", "/dev/null", slow.baseURL)
        #expect(output.contains(" of 4.00 KiB  "))
        #expect(output.contains("/s  "))
    }

    @Test func `a terminal shows what a plugin prints, also what is held until the end`()
        async throws
    {
        let folder = try TemporaryDirectory()
        let plugin = try folder.copy("libFaultyPrints.so")
        // Several times, because a thread may copy the text in time by chance.
        for _ in 0..<10 {
            let output = try await terminal(
                ["TERM": "xterm"], "--plugins", plugin, "-q", "\(server.baseURL)/get")
            #expect(output.contains("^[[31mprinted by a plugin"), "\(output)")
        }
    }

    @Test func `the option --quiet leaves out the waiting line`() async throws {
        let output = try await terminal(["TERM": "xterm"], "\(server.baseURL)/delay/1.3", "-q")
        #expect(output.isEmpty, "\(output)")
    }

    @Test func `the waiting line is erased before another line on stderr`() async throws {
        let folder = try TemporaryDirectory()
        let plugin = try folder.copy("libretry-after.so")
        let answer = "HTTP/1.1 503 Later\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"
        let busy = try ScriptedServer.start { count in
            count == 0
                ? [
                    .request,
                    .trickle(
                        Array(answer.utf8), size: answer.utf8.count / 3,
                        interval: .milliseconds(500)),
                ] : [.request, .respond(body: "done")]
        }
        let output = try await terminal(
            ["TERM": "xterm", "NO_COLOR": "1"], "--plugins", plugin, busy.baseURL, "-b")
        #expect(output.contains("\rwaiting "), "\(output)")
        #expect(
            output.contains("\r\u{1B}[Koutlet: plugin dev.outlet.retry-after: asks for another"),
            "\(output)")
    }

    @Test func `the wire log on a terminal comes without a waiting line`() async throws {
        let output = try await terminal(
            ["TERM": "xterm", "OUTLET_DEBUG": "1"], "\(server.baseURL)/delay/1.3", "-b")
        #expect(output.contains("HTTP/1.1 200 OK") && !output.contains("waiting"), "\(output)")
    }

    @Test func `the name of a file with control characters is shown on one line`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("x", to: "e\u{1B}[31m\nm")
        let result = try await outlet("-p", "B", "\(server.baseURL)/post", "@\(path)")
        #expect(result.exitCode == 0)
        #expect(result.output == "(\(folder.path("e^[[31m m")))\n\n", "\(result.output)")
    }

    @Test(arguments: [["help", "plugins"], ["plugins", "--help"]])
    func `the help about plugins names all verbs`(words: [String]) async throws {
        let result = try await Program.run(Products.path("outlet"), words)
        for verb in ["list", "inspect", "config", "call", "check", "new"] {
            #expect(result.output.contains("\n    outlet plugins \(verb) "), "\(result.output)")
        }
    }

    private func terminal(
        _ environment: [String: String], _ arguments: String...
    ) async throws -> String {
        let program = try RunningProgram(
            Products.path("outlet"), arguments, environment: environment,
            standardOutput: .terminal(columns: 80))
        return try await program.result().output
    }
}

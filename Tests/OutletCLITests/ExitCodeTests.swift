import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// The real program, against real servers: what the shell gets, and the one line on stderr.
@Suite struct ExitCodeTests {
    private let server: LoopbackServer

    init() throws { server = try LoopbackServer.start() }

    @Test(
        arguments: [
            ("/get", 0), ("/status/204", 0), ("/status/302", 3), ("/status/404", 4),
            ("/status/503", 5),
        ] as [(String, Int32)])
    func `a status has its code, and says nothing on stderr`(path: String, code: Int32) async throws
    {
        let result = try await outlet(server.baseURL + path)
        #expect(result.exitCode == code)
        #expect(result.errorOutput == "")
    }

    @Test(arguments: [600, 999])
    func `a status that HTTP does not have counts as 5xx`(status: Int) async throws {
        let odd = try ScriptedServer.start(.request, .respond("\(status) Odd", body: "x"), .again)
        #expect(try await outlet(odd.baseURL).exitCode == 5)
        #expect(try await outlet(odd.baseURL, "--no-check-status").exitCode == 0)
    }

    @Test(arguments: [
        ("SSH-2.0-OpenSSH_9.2\r\n", "'SSH-2.0-OpenSSH_9.2'"), ("\u{1B}[2Jx\n\n", "'^[[2Jx'"),
        ("HTTP/1.1 two hundred\r\n\r\n", "not HTTP: Unsupported HTTP version"),
        ("HTTP/9.9 200 OK\r\n\r\n", "Unsupported HTTP version"),
    ])
    func `what is no HTTP is shown`(answer: String, shown: String) async throws {
        let broken = try ScriptedServer.start(.request, .send(answer))
        let result = try await outlet(broken.baseURL)
        #expect(result.exitCode == 1)
        #expect(result.errorOutput.contains(shown))
        #expect(result.errorOutput.hasSuffix(" (the server may not speak HTTP on this port)\n"))
        #expect(isOneLine(result.errorOutput))
    }

    @Test(arguments: [
        (#"a=\344"#, #"argument 2: not text in UTF-8: \xe4 at byte 3"#),
        (#"a=\342\202"#, #"argument 2: not text in UTF-8: \xe2\x82 at byte 3"#),
        (#"\303\244\342("#, #"argument 2: not text in UTF-8: \xe2\x28 at byte 3"#),
    ])
    func `an argument that is not UTF-8 is refused`(bytes: String, shown: String) async throws {
        let result = try await Program.run(
            "/bin/sh", ["-c", #""$0" :1/ "$(printf "$1")" -I"#, Products.path("outlet"), bytes])
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.hasPrefix("outlet: \(shown) "))
    }

    @Test(arguments: ["A:b\u{1}", "A:b\u{7F}", "Authorization:\u{8}", "User-Agent:\u{1B}"])
    func `a field with a control character is refused`(item: String) async throws {
        let result = try await outlet(":1/", item)
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains("its value holds a control character"))
    }

    @Test func `the status is not looked at where that is asked for`() async throws {
        let result = try await outlet("\(server.baseURL)/status/503", "--no-check-status")
        #expect(result.exitCode == 0)
    }

    @Test func `redirects are followed where that is asked for`() async throws {
        let result = try await outlet("\(server.baseURL)/redirect/3", "--follow")
        #expect(result.exitCode == 0)
        #expect(result.output.contains(#""url":"\#(server.baseURL)/get""#))
    }

    @Test func `more redirects than allowed is 6`() async throws {
        let result = try await outlet(
            "\(server.baseURL)/redirect/3", "--follow", "--max-redirects=2")
        #expect(result.exitCode == 6)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `a host that does not exist is 1`() async throws {
        let result = try await outlet("http://no-such-host.invalid/")
        #expect(result.exitCode == 1)
        #expect(isOneLine(result.errorOutput))
        #expect(result.errorOutput.hasPrefix("outlet: GET http://no-such-host.invalid/: "))
        #expect(result.output == "")
    }

    @Test func `a refused connection is 1`() async throws {
        let port = server.port
        server.stop()
        let result = try await outlet(":\(port)/get")
        #expect(result.exitCode == 1)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `a server that closes in the middle of the body is 1`() async throws {
        let broken = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
        let result = try await outlet(broken.baseURL)
        #expect(result.exitCode == 1)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `a server that speaks no HTTP is 1`() async throws {
        let broken = try ScriptedServer.start(.request, .send("hello\r\n\r\n"))
        let result = try await outlet(broken.baseURL)
        #expect(result.exitCode == 1)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `the time allowed is 2 when it has passed`() async throws {
        let result = try await outlet("\(server.baseURL)/hold/2", "--timeout=0.2")
        #expect(result.exitCode == 2)
        #expect(isOneLine(result.errorOutput))
    }

    @Test(arguments: [
        [], ["--no-such-option", ":80"], ["GET"], [":80", "novalue"], [":80", "a:=nope"],
        ["ftp://host/"], [":80", "--timeout=soon"], [":80", "--cacert=/nonexistent"],
        ["plugins"], [":80", "-v", "--json"], [":80", "@/nonexistent", "a=1"], ["demos"],
    ])
    func `a wrong command line is 64`(arguments: [String]) async throws {
        let result = try await Program.run(Products.path("outlet"), arguments)
        #expect(result.exitCode == 64)
        #expect(isOneLine(result.errorOutput))
        #expect(result.output == "")
    }

    @Test(arguments: [(2, 130), (15, 143)] as [(Int32, Int32)])
    func `a signal ends a request that waits`(signal: Int32, code: Int32) async throws {
        let waiting = try ScriptedServer.start(.request, .stall)
        let program = try RunningProgram(Products.path("outlet"), [waiting.baseURL])
        _ = try await waiting.requests.values(1)
        program.signal(signal)
        let result = try await program.result()
        #expect(result.exitCode == code)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `a reader that leaves ends the program quietly`() async throws {
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c",
                #""$0" "$1/bytes/4000000" </dev/null | head -c 1 >/dev/null; echo ${PIPESTATUS[0]}"#,
                Products.path("outlet"), server.baseURL,
            ])
        #expect(result.output == "0\n")
        #expect(result.errorOutput == "")
    }

    @Test func `a full disk is named`() async throws {
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", #""$0" "$1/bytes/100" </dev/null >/dev/full"#, Products.path("outlet"),
                server.baseURL,
            ])
        #expect(result.exitCode == 1)
        #expect(
            result.errorOutput == "outlet: stdout: cannot be written: No space left on device\n")
    }

    @Test(arguments: [
        (#"exec "$0" "$1/bytes/100000" -o "$2""#, false), (#"exec "$0" --help >"$2""#, true),
    ])
    func `a file that may grow no more is named`(line: String, isOutput: Bool) async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("body")
        let result = try await Program.run(
            "/usr/bin/env",
            [
                "--default-signal=XFSZ", "/bin/sh", "-c", "ulimit -f 1; \(line)",
                Products.path("outlet"), server.baseURL, file,
            ])
        #expect(result.exitCode == 1)
        let name = isOutput ? "stdout" : file
        #expect(result.errorOutput == "outlet: \(name): cannot be written: File too large\n")
    }

    @Test(
        arguments: [
            (">&-", 1, "outlet: stdout: cannot be written: Bad file descriptor\n"),
            (">&- -q", 0, ""), ("2>&-", 0, ""), (">&- 2>&-", 1, ""), ("<&-", 0, ""),
        ] as [(String, Int32, String)])
    func `what is closed is missed only by what is written to it`(
        end: String, code: Int32, error: String
    ) async throws {
        let result = try await Program.run(
            "/bin/sh",
            ["-c", #""$0" "$1/get" "# + end, Products.path("outlet"), server.baseURL])
        #expect(result.exitCode == code)
        #expect(result.errorOutput == error)
    }

    @Test func `a place that takes no file is named`() async throws {
        let directory = try TemporaryDirectory()
        let place = directory.path("")
        let result = try await outlet("\(server.baseURL)/get", "-o", place)
        #expect(result.exitCode == 1)
        #expect(result.errorOutput == "outlet: \(place): cannot be written: Is a directory\n")
        #expect(try await outlet("\(server.baseURL)/get", "-o", "").exitCode == 64)
    }

    private func isOneLine(_ text: String) -> Bool {
        text.hasPrefix("outlet: ") && text.hasSuffix("\n")
            && text.split(separator: "\n").count == 1
    }
}

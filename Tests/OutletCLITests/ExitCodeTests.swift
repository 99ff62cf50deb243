import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

@testable import OutletCLI

/// The exit codes of the program and its one line on stderr.
@Suite struct ExitCodeTests {
    private let server: LoopbackServer

    init() throws { server = try LoopbackServer.start() }

    @Test(
        arguments: [
            ("/get", 0, nil), ("/status/204", 0, nil),
            ("/status/302", 3, "302 Found (-F follows redirects)"),
            ("/status/404", 4, "404 Not Found"), ("/status/503", 5, "503 Service Unavailable"),
        ] as [(String, Int32, String?)])
    func `a status has its exit code, and a line on stderr where no head is printed`(
        path: String, code: Int32, status: String?
    ) async throws {
        let url = server.baseURL + path
        let result = try await outlet(url)
        #expect(result.exitCode == code)
        #expect(result.errorOutput == status.map { "outlet: \(url): \($0)\n" } ?? "")
        for option in ["-h", "--print=hb", "--json", "-q", "--no-check-status"] {
            #expect(try await outlet(url, option).errorOutput == "")
        }
    }

    @Test(arguments: [
        ["HEAD", "a=1"], ["a=1", "Content-Length:5"], ["GET", "Content-Length:5"],
    ])
    func `a body that does not fit the method or a field exits with 64`(words: [String])
        async throws
    {
        var arguments = words
        arguments.insert(
            "\(server.baseURL)/anything", at: RequestLine.isKnownMethod(words[0]) ? 1 : 0)
        let result = try await Program.run(Products.path("outlet"), arguments)
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains("(leave "), "\(result.errorOutput)")
    }

    @Test func `the line on stderr names the address that redirects led to`() async throws {
        let missing = try ScriptedServer.start(
            .request, .respond("302 Found", headers: ["Location: /new"]),
            .request, .respond("404 \u{1B}[2JGone"))
        let result = try await outlet("\(missing.baseURL)/old", "--follow")
        #expect(result.exitCode == 4)
        #expect(result.errorOutput.hasPrefix("outlet: \(missing.baseURL)/new: 404 "))
        #expect(isOneLine(result.errorOutput))
        #expect(!result.errorOutput.contains("\u{1B}"))
    }

    @Test func `the line on stderr is short, though a reason phrase is long`() async throws {
        let phrase = String(repeating: "x", count: 50_000)
        let long = try ScriptedServer.start(.request, .respond("404 \(phrase)"))
        let result = try await outlet(long.baseURL)
        #expect(result.exitCode == 4)
        #expect(result.errorOutput.utf8.count < 5000 && isOneLine(result.errorOutput))
    }

    @Test(arguments: [600, 999])
    func `a status above 599 has the exit code of 5xx`(status: Int) async throws {
        let odd = try ScriptedServer.start(.request, .respond("\(status) Odd", body: "x"), .again)
        #expect(try await outlet(odd.baseURL).exitCode == 5)
        #expect(try await outlet(odd.baseURL, "--no-check-status").exitCode == 0)
    }

    @Test(arguments: [
        ("SSH-2.0-OpenSSH_9.2\r\n", "'SSH-2.0-OpenSSH_9.2'"), ("\u{1B}[2Jx\n\n", "'^[[2Jx'"),
        ("HTTP/1.1 two hundred\r\n\r\n", "not HTTP: Unsupported HTTP version"),
        ("HTTP/9.9 200 OK\r\n\r\n", "Unsupported HTTP version"),
    ])
    func `the error for a response that is not HTTP shows the first line`(
        answer: String, shown: String
    ) async throws {
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
        #expect(result.errorOutput.contains("(@FILE) or stdin"))
    }

    @Test func `only commands with a body advise to take other bytes from a file`() async throws {
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", #""$0" --timeout 5 plugins call a.b "$(printf '\344')""#,
                Products.path("outlet"),
            ])
        #expect(result.exitCode == 64)
        #expect(
            result.errorOutput == "outlet: argument 6: not text in UTF-8: \\xe4 at byte 1\n")
    }

    @Test(arguments: ["A:b\u{1}", "A:b\u{7F}", "Authorization:\u{8}", "User-Agent:\u{1B}"])
    func `a field with a control character is refused`(item: String) async throws {
        let result = try await outlet(":1/", item)
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains("its value holds a control character"))
    }

    @Test(arguments: [
        "--timeout=0x1", "--timeout=inf", "--timeout=+1", "--timeout=-1", "--timeout=nan",
        "--timeout=1e9", "--max-decompression-ratio=0x10", "--max-decompression-ratio=inf",
    ])
    func `a number is written with decimal digits`(argument: String) async throws {
        let result = try await outlet(":1/", argument)
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains("not a number"))
    }

    @Test func `with --no-check-status the status does not change the exit code`() async throws {
        let result = try await outlet("\(server.baseURL)/status/503", "--no-check-status")
        #expect(result.exitCode == 0)
    }

    @Test func `with --follow redirects are followed`() async throws {
        let result = try await outlet("\(server.baseURL)/redirect/3", "--follow")
        #expect(result.exitCode == 0)
        #expect(result.output.contains(#""url":"\#(server.baseURL)/get""#))
    }

    @Test func `more redirects than allowed exit with 6`() async throws {
        let result = try await outlet(
            "\(server.baseURL)/redirect/3", "--follow", "--max-redirects=2")
        #expect(result.exitCode == 6)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `an unknown host exits with 1`() async throws {
        let result = try await outlet("http://no-such-host.invalid/")
        #expect(result.exitCode == 1)
        #expect(isOneLine(result.errorOutput))
        #expect(result.errorOutput.hasPrefix("outlet: GET http://no-such-host.invalid/: "))
        #expect(result.output == "")
    }

    @Test func `a refused connection exits with 1`() async throws {
        let port = server.port
        server.stop()
        let result = try await outlet(":\(port)/get")
        #expect(result.exitCode == 1)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `a server that closes in the middle of the body exits with 1`() async throws {
        let broken = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
        let result = try await outlet(broken.baseURL)
        #expect(result.exitCode == 1)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `a server that does not speak HTTP exits with 1`() async throws {
        let broken = try ScriptedServer.start(.request, .send("hello\r\n\r\n"))
        let result = try await outlet(broken.baseURL)
        #expect(result.exitCode == 1)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `a timeout exits with 2`() async throws {
        let result = try await outlet("\(server.baseURL)/hold/2", "--timeout=0.2")
        #expect(result.exitCode == 2)
        #expect(isOneLine(result.errorOutput))
    }

    @Test(arguments: [
        [], ["--no-such-option", ":80"], ["GET"], [":80", "novalue"], [":80", "a:=nope"],
        ["ftp://host/"], [":80", "--timeout=soon"], [":80", "--cacert=/nonexistent"],
        ["plugins"], [":80", "-v", "--json"], [":80", "@/nonexistent", "a=1"], ["demos"],
    ])
    func `a wrong command line exits with 64`(arguments: [String]) async throws {
        let result = try await Program.run(Products.path("outlet"), arguments)
        #expect(result.exitCode == 64)
        #expect(isOneLine(result.errorOutput))
        #expect(result.output == "")
    }

    @Test func `a download that SIGHUP ends says what it has left`() async throws {
        let broken = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .stall)
        let directory = try TemporaryDirectory()
        let file = directory.path("body")
        let program = try RunningProgram(
            Products.path("outlet"), [broken.baseURL, "-o", file],
            environment: ["TERM": "xterm", "NO_COLOR": "1"], standardOutput: .terminal(columns: 80))
        try await program.output(containing: "4 B of 100 B")
        program.signal(1)
        let result = try await program.result()
        #expect(result.exitCode == 129)
        #expect(result.output.contains("hung up (\(file) holds the first 4 B)\r\n"))
    }

    @Test(arguments: [("HUP", 1, 2, 130), ("INT", 2, 15, 143), ("TERM", 15, 2, 130)])
    func `a signal that is ignored at the start stays ignored`(
        name: String, ignored: Int32, other: Int32, code: Int32
    ) async throws {
        let waiting = try ScriptedServer.start(.request, .stall)
        let program = try RunningProgram(
            "/bin/sh",
            [
                "-c", #"trap "" "$2"; exec "$0" "$1""#, Products.path("outlet"), waiting.baseURL,
                name,
            ])
        _ = try await waiting.requests.values(1)
        program.signal(ignored)
        program.signal(other)
        #expect(try await program.result().exitCode == code)
    }

    @Test(arguments: [(1, 129), (2, 130), (15, 143)] as [(Int32, Int32)])
    func `a signal ends a waiting request with 128 plus its number`(signal: Int32, code: Int32)
        async throws
    {
        let waiting = try ScriptedServer.start(.request, .stall)
        let program = try RunningProgram(Products.path("outlet"), [waiting.baseURL])
        _ = try await waiting.requests.values(1)
        program.signal(signal)
        let result = try await program.result()
        #expect(result.exitCode == code)
        #expect(isOneLine(result.errorOutput))
    }

    @Test func `the program exits with 0 and without a message when its reader closes the pipe`()
        async throws
    {
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

    /// A command whose stdout has lost its reader before it begins; then its exit code is printed.
    private static func afterReader(_ command: String) -> String {
        "exec 3> >(:); wait $!; \(command) </dev/null >&3; echo $?"
    }

    @Test(arguments: [
        (#"/status/500"#, "-v", 5), ("/status/404", "-h", 4), ("/redirect/1", "-v", 3),
    ])
    func `with a closed reader the exit code is that of the response`(
        path: String, option: String, code: Int
    ) async throws {
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c", Self.afterReader(#""$0" "$2" "$1""#),
                Products.path("outlet"), server.baseURL + path, option,
            ])
        #expect(result.output == "\(code)\n")
        #expect(result.errorOutput == "")
    }

    @Test func `with a closed reader a failed request is reported`() async throws {
        let closed = try ScriptedServer.start(.request)
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c", Self.afterReader(#""$0" -v "$1""#),
                Products.path("outlet"), closed.baseURL,
            ])
        #expect(result.output == "1\n")
        #expect(isOneLine(result.errorOutput))
    }

    @Test(arguments: ["-v", "-ph", "--json"])
    func `with a closed reader a body is written to its file all the same`(option: String)
        async throws
    {
        let directory = try TemporaryDirectory()
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c",
                Self.afterReader(#""$0" "$2" -o "$3" "$1/bytes/300000""#),
                Products.path("outlet"), server.baseURL, option, directory.path("body"),
            ])
        #expect(result.output == "0\n")
        #expect(try directory.read("body").count == 300_000)
    }

    @Test(arguments: [[], ["--json"]])
    func `a pipe of --output whose reader leaves is an error`(options: [String]) async throws {
        let directory = try TemporaryDirectory()
        let pipe = directory.path("pipe")
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c",
                #"mkfifo "$2"; head -c 5 "$2" >/dev/null & "$0" -o "$2" "$1/bytes/3000000" "${@:3}""#,
                Products.path("outlet"), server.baseURL, pipe,
            ] + options)
        #expect(result.exitCode == 1)
        if options.isEmpty {
            #expect(result.errorOutput.contains("\(pipe): cannot be written: Broken pipe"))
        } else {
            let report = try JSONValue(parsing: result.standardOutput)
            #expect(report["error"]?["code"] == "cannotWriteToFile")
        }
    }

    @Test func `the error for a full disk has the reason`() async throws {
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
    func `the error for a file above the size limit names the file`(line: String, isOutput: Bool)
        async throws
    {
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
    func `a closed standard stream is an error only if it is written to`(
        end: String, code: Int32, error: String
    ) async throws {
        let result = try await Program.run(
            "/bin/sh",
            ["-c", #""$0" "$1/get" "# + end, Products.path("outlet"), server.baseURL])
        #expect(result.exitCode == code)
        #expect(result.errorOutput == error)
    }

    @Test func `too few descriptors for the runtime are an error`() async throws {
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", #"ulimit -n 8; exec "$0" "$1/get""#, Products.path("outlet"), server.baseURL,
            ])
        #expect(result.exitCode == 1)
        #expect(
            result.errorOutput
                == "outlet: fewer than 8 files can be opened (raise the limit of open files "
                + "(ulimit -n))\n")
    }

    @Test(arguments: [80_000, 100_000, 120_000, 160_000, 200_000, 220_000, 240_000])
    func `with little memory the program answers, or says so, but does not wait`(kibibytes: Int)
        async throws
    {
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", #"ulimit -s 8192; ulimit -v "$2"; exec "$0" -b --timeout=20 "$1/status/200""#,
                Products.path("outlet"), server.baseURL, "\(kibibytes)",
            ])
        let isRefused =
            result.errorOutput
            == "outlet: less than 80 MiB of memory can be mapped (raise the limit of memory "
            + "(ulimit -v))\n"
        #expect(
            isRefused ? result.exitCode == 1 : result.exitCode == 0 && result.errorOutput.isEmpty,
            "\(result.exitCode) \(result.errorOutput)")
        #expect(isRefused == (kibibytes == 80_000) || (100_000..<200_000).contains(kibibytes))
    }

    @Test func `the error for a directory as output file names it`() async throws {
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

    @Test(arguments: ["list", "config --run --plugins", "inspect --plugins", "check"])
    func `with a closed reader a command for plugins has the exit code of its result`(
        command: String
    ) async throws {
        let directory = try TemporaryDirectory()
        let faulty = directory.path("plugin.so")
        try FileManager.default.copyItem(
            atPath: Products.path(
                command == "check" ? "libFaultyNoEntry.so" : "libFaultyCreateFails.so"),
            toPath: faulty)
        try directory.write(
            #"{"plugins": {"faulty.create-fails": {"config": 1}}}"#, to: "plugins.json")
        let subject =
            command.hasPrefix("inspect")
            ? "\(directory.path) faulty.create-fails"
            : command == "check" ? "--only load \(faulty)" : directory.path
        let line = #""$0" plugins \#(command) \#(subject)"#
        for closes in [false, true] {
            let result = try await Program.run(
                "/bin/bash",
                [
                    "-c", closes ? Self.afterReader(line) : "\(line) >/dev/null; echo $?",
                    Products.path("outlet"),
                ])
            #expect(result.output == "7\n", "\(closes)")
        }
    }

    // MARK: Files that are open already

    @Test func `--output replaces a file that another descriptor may write to`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(String(repeating: "old", count: 100), to: "data")
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c", #"exec 3<>"$2"; "$0" "$1/bytes/5" -o "$2""#, Products.path("outlet"),
                server.baseURL, file,
            ])
        #expect(result.exitCode == 0)
        #expect(try directory.read("data").count == 5)
    }

    @Test(arguments: [4, 5, 9, 12, 100])
    func `--output to a descriptor that is not open is an error before the request`(
        number: Int
    ) async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"))
        let result = try await outlet(server.baseURL, "-o", "/dev/fd/\(number)")
        #expect(result.exitCode == 1)
        #expect(result.errorOutput.contains("/dev/fd/\(number): cannot be written: "))
        #expect(server.requests.values.isEmpty)
    }

    @Test(arguments: ["/dev/stdout", "/dev/fd/1", "/dev/fd/3", "/dev/./fd/3", "$2"])
    func `--output to an open file keeps what is there, and its order`(path: String) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("before\n", to: "log")
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c",
                #"""
                "$0" "$1/bytes/5" -p hb -o "\#(path)" >>"$2" 3>>"$2"; echo after >>"$2"
                """#, Products.path("outlet"), server.baseURL, file,
            ])
        #expect(result.errorOutput == "")
        let text = String(decoding: try directory.read("log"), as: UTF8.self)
        #expect(text.hasPrefix("before\nHTTP/1.1 200 OK\n") && text.hasSuffix("after\n"))
        let body = try await outlet("\(server.baseURL)/bytes/5").output
        #expect(text.contains("\n\n\(body)after"))
    }

    @Test(arguments: ["@\"$2\"", "<\"$2\"", "--chunked <\"$2\""])
    func `--output to the file that the request sends is refused`(body: String) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(String(repeating: "x", count: 3_000_000), to: "data")
        let result = try await Program.run(
            "/bin/bash",
            [
                "-c", #""$0" POST "$1/post" -o "$2" \#(body)"#, Products.path("outlet"),
                server.baseURL, file,
            ])
        #expect(result.exitCode == 64)
        #expect(
            result.errorOutput
                == "outlet: --output: \(file) is the file that the request sends (name another)\n")
        #expect(try directory.read("data").count == 3_000_000)
    }

    @Test(arguments: ["data", "other/../data", "link", "hard"])
    func `--output to the file that a file URL reads is refused`(name: String) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("content", to: "a b")
        _ = try directory.write("", to: "other/x")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("data"), withDestinationPath: file)
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("link"), withDestinationPath: "data")
        try FileManager.default.linkItem(atPath: file, toPath: directory.path("hard"))
        let path = directory.path(name)
        let url = "file://" + directory.path("a%20b")
        let result = try await outlet("--allow-file", url, "-o", path)
        #expect(result.exitCode == 64)
        #expect(
            result.errorOutput
                == "outlet: --output: \(path) is the file that the request reads (name another)\n")
        #expect(try directory.read("a b") == Array("content".utf8))
    }

    @Test(arguments: ["<", "<&-", ">&- <", "2>&- <"])
    func `with plugins --output to the null device works, whatever the streams are`(
        streams: String
    ) async throws {
        let directory = try TemporaryDirectory()
        let input = streams.hasSuffix("<") ? streams + "/dev/null" : streams
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", #""$0" "$1/get" --plugins "$2" -o /dev/null \#(input)"#,
                Products.path("outlet"), server.baseURL, directory.copy("librequest-id.so"),
            ])
        #expect(result.exitCode == 0)
        #expect(result.errorOutput == "")
    }

    @Test(arguments: ["/dev/fd/200", "/dev/./fd/201", "/proc/thread-self/fd/202"])
    func `--output to a descriptor of the program's own is an error`(path: String) async throws {
        let directory = try TemporaryDirectory()
        let result = try await outlet(
            server.baseURL + "/get", "-o", path, "--plugins", directory.copy("librequest-id.so"))
        #expect(result.exitCode == 1 && result.output == "")
        #expect(
            result.errorOutput == "outlet: \(path): cannot be written: Bad file descriptor\n")
    }

    @Test(arguments: [["--json"], ["--pretty=all"]])
    func `deeply nested JSON is JSON for every kind of output`(options: [String]) async throws {
        let nested = String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
        let deep = try ScriptedServer.start(
            .request, .respond(headers: ["Content-Type: application/json"], body: nested))
        let result = try await Program.run(Products.path("outlet"), [deep.baseURL] + options)
        #expect(result.exitCode == 0 && result.errorOutput == "")
    }
}

import FoundationEssentials
import Outlet
import OutletTestSupport
import Synchronization
import Testing

@testable import OutletCLI

@Suite struct ColorChoiceTests {
    @Test(
        arguments: [
            (ColorChoice.auto, true, [:], true),
            (.auto, false, [:], false),
            (.auto, true, ["NO_COLOR": "1"], false),
            (.auto, true, ["NO_COLOR": ""], true),
            (.auto, true, ["TERM": "dumb"], false),
            (.auto, false, ["CLICOLOR_FORCE": "1"], true),
            (.auto, false, ["CLICOLOR_FORCE": "0"], false),
            (.auto, false, ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], false),
            (.always, false, ["NO_COLOR": "1"], true),
            (.never, true, ["CLICOLOR_FORCE": "1"], false),
        ] as [(ColorChoice, Bool, [String: String], Bool)])
    func `colours depend on the option, the environment and the terminal`(
        choice: ColorChoice, isTerminal: Bool, environment: [String: String], isOn: Bool
    ) {
        #expect(choice.isOn(isTerminal: isTerminal, environment: environment) == isOn)
    }
}

@Suite struct CommandErrorTests {
    @Test func `an error is one line with visible control characters`() {
        let error = CommandError(.failure, "a\nb\u{1B}[31m: wrong", advice: "do\tthis")
        #expect(error.description == "outlet: a b^[[31m: wrong (do this)")
    }

    @Test(arguments: [
        (200, 0), (204, 0), (304, 3), (404, 4), (500, 5), (599, 5), (101, 0), (0, 5), (99, 5),
        (600, 5), (999, 5),
    ])
    func `a status has its exit code`(status: Int, code: Int32) {
        #expect(ExitCode(status: status).rawValue == code)
    }
}

@Suite struct QuantityTests {
    @Test(
        arguments: [
            (0, "0 µs"), (999, "999 µs"), (1000, "1.00 ms"), (1_239, "1.23 ms"),
            (12_345, "12.3 ms"),
            (123_456, "123 ms"), (1_050_000, "1.05 s"), (61_000_000, "61.0 s"),
        ] as [(Int64, String)])
    func `times have three significant digits`(microseconds: Int64, text: String) {
        #expect(Quantity.duration(microseconds) == text)
    }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (1_572_864, "1.50 MiB"),
            (5_368_709_120, "5.00 GiB"), (.max, "8388607 TiB"),
        ] as [(Int64, String)])
    func `sizes have three significant digits`(bytes: Int64, text: String) {
        #expect(Quantity.bytes(bytes) == text)
    }
}

@Suite struct BodyTextTests {
    @Test(arguments: [
        ("application/json", true), ("Application/JSON", true), ("application/problem+json", true),
        ("text/json", false), ("application/jsonl", false), ("text/plain", false),
    ])
    func `only JSON media types count as JSON`(type: String, claims: Bool) {
        #expect(BodyText.claimsJSON(type) == claims)
    }

    @Test func `NUL bytes and invalid UTF-8 are not text`() {
        #expect(BodyText.isText(prefix: Data("a\u{1B}é".utf8)))
        #expect(BodyText.isText(prefix: Data([0x61, 0xC3])))
        #expect(!BodyText.isText(prefix: Data([0x61, 0])))
        #expect(!BodyText.isText(prefix: Data([0xFF, 0xFE])))
    }

    @Test func `colours surround tokens and change nothing else`() throws {
        var output: [UInt8] = []
        var json = JSONReformatter.pretty(Style(isOn: true))
        try json.append(Array(#"{"a":[1,true]}"#.utf8), to: &output)
        try json.finish()
        let text = String(decoding: output, as: UTF8.self)
        #expect(
            text == "{\n    \u{1B}[34m\"a\"\u{1B}[0m: [\n        \u{1B}[36m1\u{1B}[0m,\n        "
                + "\u{1B}[35mtrue\u{1B}[0m\n    ]\n}")
    }
}

@Suite struct HeadTextTests {
    @Test func `a request's head has the target and host, with secrets hidden`() throws {
        let request = HTTPRequest(
            url: URL(string: "http://h:81/p?token=x"), method: .post,
            headers: ["Authorization": "Bearer t", "A": "b"])
        #expect(
            HeadText(style: .plain, showsSecrets: false).request(request)
                == "POST /p?token=••• HTTP/1.1\nHost: h:81\nAuthorization: Bearer •••\nA: b\n\n")
        #expect(
            HeadText(style: .plain, showsSecrets: true).request(request).contains("Bearer t\n"))
    }

    @Test func `control characters in a response's head do not reach the terminal`() {
        let response = HTTPResponse(
            url: nil, statusCode: 404, headers: ["A": "b\u{1B}[2J\tc", "N\u{202E}\u{1B}[m": "x"])
        #expect(
            HeadText(style: .plain, showsSecrets: false).response(response)
                == "HTTP/1.1 404 Not Found\nA: b^[[2J c\nN<U+202E>^[[m: x\n\n")
    }

    @Test func `a status without a known phrase is printed without one`() {
        let response = HTTPResponse(url: nil, statusCode: 299, httpVersion: "HTTP/2")
        #expect(
            HeadText(style: .plain, showsSecrets: false).response(response) == "HTTP/2 299\n\n")
    }
}

@Suite struct TimingTextTests {
    private var metrics: TransferMetrics {
        var metrics = TransferMetrics()
        metrics.nameLookup = 100
        metrics.connect = 300
        metrics.preTransfer = 310
        metrics.firstByte = 1310
        metrics.total = 2000
        return metrics
    }

    @Test func `stages that did not happen are omitted`() {
        let names = TimingText.stages(of: metrics).map(\.name)
        #expect(names == ["name lookup", "connect", "prepare", "wait", "receive"])
    }

    @Test func `the time of a transfer that has failed belongs to the stage in which it did`() {
        var failed = TransferMetrics()
        failed.total = 900
        #expect(TimingText.line(failed) == "900 µs = name lookup 900 µs")
        failed.nameLookup = 100
        #expect(TimingText.line(failed) == "900 µs = name lookup 100 µs + connect 800 µs")
        failed.connect = 300
        #expect(TimingText.stages(of: failed).map(\.name) == ["name lookup", "connect", "TLS"])
        failed.preTransfer = 310
        #expect(TimingText.stages(of: failed).last == .init(name: "wait", start: 310, end: 900))
    }

    @Test func `the stages add up to the total`() {
        let line = TimingText.line(metrics)
        #expect(
            line
                == "2.00 ms = name lookup 100 µs + connect 200 µs + prepare 10 µs + wait 1.00 ms + receive 690 µs"
        )
    }
}

@Suite struct ExchangeReportTests {
    private func exchange(type: String) -> Exchange {
        var exchange = Exchange(
            request: HTTPRequest(
                url: URL(string: "http://h/?key=k"), headers: ["Cookie": "a=b"]))
        exchange.response = HTTPResponse(
            url: nil, statusCode: 200, headers: ["Content-Type": type])
        exchange.metrics = TransferMetrics()
        exchange.actions = [
            PluginAction(
                plugin: "p", hook: "prepare", effects: ["+ A: b"], failure: nil, microseconds: 3)
        ]
        return exchange
    }

    /// Writes a report and parses it.
    private func report(
        _ exchange: Exchange, body: String = "", exitCode: ExitCode = .ok
    ) throws -> JSONValue {
        var spool = BodySpool(
            claimsJSON: exchange.response?.mimeType.map(BodyText.claimsJSON) ?? false,
            limit: .max)
        try spool.append(Data(body.utf8))
        try spool.finish()
        let text = Mutex(Data())
        try ExchangeReport(showsSecrets: false).write(
            exchange, exitCode: exitCode, body: spool, layout: .oneLine
        ) { piece in text.withLock { $0 += piece } }
        return try JSONValue(parsing: text.withLock { $0 })
    }

    @Test func `the report holds request, response, metrics, plugins and exit code`() throws {
        let value = try report(exchange(type: "application/json"), body: #"{"x":1.0}"#)
        #expect(value["schema"] == "outlet.exchange/1")
        #expect(value["request"]?["url"] == "http://h/?key=•••")
        #expect(value["request"]?["headers"]?[0] == ["name": "Cookie", "value": "a=•••"])
        #expect(value["response"]?["body"]?["json"]?.text() == #"{"x":1.0}"#)
        #expect(value["metrics"]?["total_us"] == 0)
        #expect(value["plugins"]?[0]?["hook"] == "prepare")
        #expect(value["error"] == .null)
        #expect(value["exit_code"] == 0)
    }

    @Test(arguments: [[], ["--show-secrets"]])
    func `the report lists the header fields that were sent`(options: [String]) async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let result = try await Program.run(
            Products.path("outlet"),
            [
                "--json", "--ignore-stdin", "--auth", "me:geheim", "POST", server.baseURL, "a=1",
                "X-Own:yes",
            ]
                + options)
        let value = try JSONValue(parsing: Data(result.output.utf8))
        let head = try await server.requests.values(1)[0].head
        let sent = head.split(separator: "\r\n").dropFirst().map { line in
            String(line[..<(line.firstIndex(of: ":") ?? line.endIndex)])
        }
        let fields = value["request"]?["headers"]?.arrayValue ?? []
        #expect(fields.map { $0["name"] } == sent.map { .string($0) }, "\(result.output)")
        #expect(fields.contains(["name": "Content-Length", "value": "9"]), "\(result.output)")
        #expect(fields.contains(["name": "X-Own", "value": "yes"]))
        #expect(result.output.contains("bWU6Z2VoZWlt") == !options.isEmpty, "\(result.output)")
    }

    @Test func `a body that is not JSON is text or base64`() throws {
        let text = try report(exchange(type: "text/plain"), body: "hi\"\n")
        #expect(text["response"]?["body"] == ["text": "hi\"\n"])
        let broken = try report(
            exchange(type: "application/json"), body: "{", exitCode: .failure)
        #expect(broken["response"]?["body"] == ["text": "{"])
        let binary = try report(exchange(type: "image/png"), body: "\0")
        #expect(binary["response"]?["body"] == ["base64": "AA=="])
    }

    @Test func `a failure has code, stage and message`() throws {
        var exchange = exchange(type: "text/plain")
        exchange.response = nil
        exchange.failure = Exchange.Failure(
            error: CommandError(.timeout, "h: no answer", advice: "wait"), code: "timedOut",
            stage: "waiting")
        let value = try report(exchange, exitCode: .timeout)
        #expect(value["response"] == .null)
        #expect(
            value["error"]
                == [
                    "code": "timedOut", "stage": "waiting", "message": "h: no answer",
                    "advice": "wait", "plugin_code": nil,
                ])
        #expect(value["exit_code"] == 2)
    }
}

@Suite struct ProgressLineTests {
    @Test func `with a known size the progress has share, rate and remaining time`() {
        let line = ProgressLine(done: 1_048_576, total: 4_194_304, elapsed: 1_000_000)
        #expect(line.text(columns: 80) == "25 %  1.00 MiB of 4.00 MiB  1.00 MiB/s  3 s left")
        #expect(line.text(columns: 10).count == 9)
    }

    @Test func `as long as bytes are missing, some time is left`() {
        for (done, rest) in [(4_194_303, "1 s"), (3_145_729, "1 s"), (4_194_304, "0 s")] {
            let line = ProgressLine(done: Int64(done), total: 4_194_304, elapsed: 1_000_000)
            #expect(line.text(columns: 80).hasSuffix("  \(rest) left"))
        }
        let largest = ProgressLine(done: 1, total: .max, elapsed: 1_000_000)
        #expect(largest.text(columns: 80).hasSuffix("  \(Int64.max - 1) s left"))
    }

    @Test func `with an unknown size the progress has amount and rate`() {
        let line = ProgressLine(done: 2048, total: -1, elapsed: 2_000_000)
        #expect(line.text(columns: 80) == "2.00 KiB  1.00 KiB/s  2.00 s")
    }

    @Test func `before the first byte the progress says that it waits`() {
        #expect(
            ProgressLine(done: 0, total: -1, elapsed: 1_500_000).text(columns: 80)
                == "waiting  1.50 s")
    }
}

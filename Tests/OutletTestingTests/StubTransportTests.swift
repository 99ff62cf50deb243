import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct StubTransportTests {
    let base = "http://api.test"
    let lost = TransferError(code: .networkConnectionLost, stage: .receiving, reason: "lost")

    private func send(
        _ session: Session, _ method: HTTPMethod = .get, _ path: String,
        headers: HTTPHeaders? = nil, body: HTTPBody = .none
    ) async -> DataResponse<Data?, SessionError> {
        let request = HTTPRequest(
            url: URL(string: base + path), method: method, headers: headers ?? HTTPHeaders(),
            body: body)
        return await session.request(request).serializingUnserialized().response
    }

    @Test(arguments: [Double.nan, -Double.infinity, -1])
    func `an answer whose delay is no positive number comes at once`(delay: Double) async {
        let clock = TestClock()
        let stub = StubTransport(clock: clock) { _ in StubAnswer(delay: delay) }
        let session = Session(transport: stub)
        let response = await session.request("http://test.example/").serializingUnserialized()
            .response
        #expect(response.error == nil && clock.waiting == 0)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [Double.infinity, 1e300])
    func `an answer whose delay is longer than clocks can wait is still to come`(
        delay: Double
    ) async {
        let clock = TestClock()
        let stub = StubTransport(clock: clock) { _ in StubAnswer(delay: delay) }
        let session = Session(transport: stub)
        let request = session.request("http://test.example/")
        async let response = request.serializingUnserialized().response
        await clock.waiters()
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        #expect(clock.waiting == 0)
    }

    // MARK: Matching

    @Test func `the error of a request without a stub lists near misses, nearest first`()
        async
    {
        let transport = StubTransport(stubs: [
            Stub(.post("/users").header("Accept", "text/*").query("a"), name: "far", .status(200)),
            Stub(.post("/users/*"), name: "near", .status(200)),
        ])
        let session = Session(transport: transport)
        let response = await send(session, .get, "/users/1?token=hidden")
        let error = response.error?.transferError
        #expect(error?.code == .resourceUnavailable)
        #expect(
            error?.reason == "GET http://api.test/users/1?token=•••: no stub answers it: "
                + "'near': method is GET; 'far': method is GET, address is /users/1, "
                + "header Accept is missing, query a is missing")
        #expect(throws: StubError.self) { try transport.verify() }
        #expect(transport.unmatched.count == 1)
    }

    @Test func `stubs match by method, URL, field, query and body`() async throws {
        let transport = StubTransport(stubs: [
            Stub(.post("/json").json(["b": 1, "a": [true]]), .status(201)),
            Stub(.put("**").body("text"), .status(202)),
            Stub(.put("**").body("long") { $0.count > 4 }, .status(203)),
            Stub(.get("http://*.test/a/*/c").header("X-Kind", "a*b").query("q", "1"), .status(204)),
            Stub(.any.matching("a head") { $0.method == .head }, .status(205)),
        ])
        let session = Session(transport: transport)
        #expect(
            await send(session, .post, "/json", body: .data(Data(#"{ "a":[true],"b":1}"#.utf8)))
                .response?.statusCode == 201)
        #expect(
            await send(session, .put, "/x/y", body: .data(Data("text".utf8)))
                .response?.statusCode == 202)
        #expect(
            await send(session, .put, "/x", body: .stream(TestStream("longer")))
                .response?.statusCode == 203)
        #expect(
            await send(session, .get, "/a/b/c?p=2&q=1", headers: ["x-kind": "a/b"])
                .response?.statusCode == 204)
        #expect(await send(session, .head, "/").response?.statusCode == 205)
        try transport.verify()
        #expect(transport.recorded.map(\.stub).count == 5)
        #expect(try transport.bodies.at(2) == Data("longer".utf8))
    }

    @Test(arguments: [
        ("/a/*", "http://h/a/b", true), ("/a/*", "http://h/a/b/c", false),
        ("/a/**", "http://h/a/b/c", true), ("/a", "http://h/a?x=1", true),
        ("/a?x=*", "http://h/a?x=1", true), ("/a?x=2", "http://h/a?x=1", false),
        ("**/end", "https://h:1/a/end", true), ("http://h/*", "http://h/", true),
        ("/a*b*c", "http://h/axbxxc", true), ("/a*b", "http://h/ac", false),
    ])
    func `one star matches a path segment, and two stars match anything`(
        pattern: String, address: String, matches: Bool
    ) {
        let request = HTTPRequest(url: URL(string: address))
        #expect(RequestMatcher().url(pattern).matches(request) == matches)
    }

    @Test func `near misses hide secrets`() async {
        let transport = StubTransport(stubs: [
            Stub(.any.header("Authorization", "Bearer mine"), .status(200))
        ])
        let session = Session(transport: transport)
        let response = await send(session, .get, "/", headers: ["Authorization": "Bearer other"])
        let reason = response.error?.transferError?.reason ?? ""
        #expect(reason.contains("header Authorization is Bearer •••"))
        #expect(!reason.contains("other") && !reason.contains("mine"))
    }

    // MARK: Sequences

    @Test func `a stub returns its responses in turn and repeats the last one`() async {
        let transport = StubTransport(stubs: [
            Stub(.get("/"), answers: [.status(503), .status(200)])
        ])
        let session = Session(transport: transport)
        var codes: [Int?] = []
        for _ in 0..<3 { codes.append(await send(session, .get, "/").response?.statusCode) }
        #expect(codes == [503, 200, 200])
    }

    @Test func `a stub that has returned all its responses is followed by the next stub`() async {
        let transport = StubTransport(stubs: [
            Stub(.get("/"), name: "once", answers: [.status(201)], repeatsLast: false),
            Stub(.get("/"), name: "twice", answers: [.status(202)], repeatsLast: false),
        ])
        let session = Session(transport: transport)
        var codes: [Int?] = []
        for _ in 0..<2 { codes.append(await send(session, .get, "/").response?.statusCode) }
        #expect(codes == [201, 202])
        let error = await send(session, .get, "/").error?.transferError
        #expect(error?.reason.contains("'once': all 1 answers are given") == true)
    }

    @Test func `verify reports stubs with unused responses`() async {
        let transport = StubTransport(stubs: [
            Stub(.get("/a"), name: "a", answers: [.status(200), .status(201)]),
            Stub(.get("/b"), name: "b", .status(200)),
        ])
        transport.add(Stub(.get("/c"), name: "c", .status(200)))
        let session = Session(transport: transport)
        _ = await send(session, .get, "/a")
        _ = await send(session, .get, "/c")
        #expect(
            throws: StubError.unused(stubs: [
                "'a': 1 of 2 answers given", "'b': 0 of 1 answers given",
            ])
        ) { try transport.verify() }
    }

    // MARK: Responses

    @Test(arguments: [0, 1, 9])
    func `a response can fail at a byte of its body`(offset: Int) async {
        let stubbed = StubAnswer.text("0123456789").failing(with: lost, atByte: offset)
        let session = Session(transport: StubTransport(answers: [stubbed]))
        let response = await send(session, .get, "/")
        #expect(response.error?.transferError == lost)
        #expect(response.response?.statusCode == 200)
        #expect(response.data == (offset == 0 ? nil : Data("0123456789".utf8.prefix(offset))))
        #expect(response.metrics?.responseBodyBytes == Int64(offset))
    }

    @Test(
        arguments: [
            (HTTPMethod.head, 200, "4"), (.get, 204, nil), (.get, 205, nil), (.get, 304, "4"),
            (.get, 200, "4"),
        ] as [(HTTPMethod, Int, String?)])
    func `a response that has no content by its rules is delivered without a body`(
        method: HTTPMethod, code: Int, length: String?
    ) async {
        let session = Session(
            transport: StubTransport(answers: [.text("body", statusCode: code)]))
        let response = await send(session, method, "/")
        #expect(response.data.map { $0.count } == (method == .get && code == 200 ? 4 : nil))
        #expect(response.response?.headers["Content-Length"] == length)
        #expect(response.error == nil)
    }

    @Test(arguments: [-1, 0, 99, 100, 101, 103, 199])
    func `a status below 200 is not that of a final response`(code: Int) async {
        let session = Session(
            transport: StubTransport(answers: [.text("body", statusCode: code)]))
        let response = await send(session, .get, "/")
        #expect(response.error?.transferError?.code == .badServerResponse)
        #expect(response.error?.transferError?.reason.contains("\(code)") == true)
        #expect(response.response == nil && response.data == nil)
    }

    @Test func `a Proxy-Authorization field of a request or a session reaches no stub`() async {
        var configuration = SessionConfiguration.default
        for isSession in [false, true] {
            let stub = StubTransport(answers: [.text("x")])
            let field: HTTPHeaders = ["Proxy-Authorization": "Basic cDpw"]
            if isSession { configuration.headers = field }
            let session = Session(transport: stub, configuration: configuration)
            let response = await send(session, .get, "/", headers: isSession ? nil : field)
            #expect(response.error.map { "\($0)".contains("proxyCredential") } == true)
            #expect(stub.recorded.isEmpty)
        }
    }

    @Test func `a response can fail inside its head, which is not reported then`() async {
        let stubbed = StubAnswer.text("body").failing(with: lost, atByte: 10, of: .head)
        let session = Session(transport: StubTransport(answers: [stubbed]))
        let response = await send(session, .get, "/")
        #expect(response.error?.transferError == lost)
        #expect(response.response == nil)
        #expect(response.metrics?.responseHeaderBytes == 10)
    }

    @Test func `a body is delivered in the given chunk sizes, divided by waits`() async throws {
        let gate = StubGate()
        let stubbed = StubAnswer.text("0123456789").chunked(into: 1, 4, 3)
            .waiting(atByte: 3, for: gate)
        let session = Session(transport: StubTransport(answers: [stubbed]))
        let seen = Recorder<String>()
        session.streamRequest(URL(string: base)!).responseStreamString { stream in
            seen.record(stream.value ?? "end")
        }
        await gate.arrival()
        #expect(try await seen.values(2) == ["0", "12"])
        gate.open()
        #expect(try await seen.values(6) == ["0", "12", "34", "567", "89", "end"])
    }

    @Test func `an answer that was cancelled at a closed gate is released with the gate`()
        async throws
    {
        weak var released: StubGate?
        do {
            let gate = StubGate()
            released = gate
            let session = Session(
                transport: StubTransport(answers: [.text("x").waiting(atByte: 0, for: gate)]))
            let ends = Recorder<Bool>()
            let request = session.request(base).response {
                ends.record($0.error?.isExplicitlyCancelledError == true)
            }
            await gate.arrival()
            request.cancel()
            #expect(try await ends.values(1) == [true])
        }
        while released != nil, !Task.isCancelled { await Task.yield() }
    }

    @Test func `a response can stall until it is cancelled`() async throws {
        let session = Session(
            transport: StubTransport(answers: [StubAnswer.text("0123").stalling(atByte: 2)]))
        let chunks = Recorder<String>()
        let request = session.streamRequest(URL(string: base)!).responseStreamString { stream in
            chunks.record(
                stream.value ?? "\(stream.completion?.error?.isExplicitlyCancelledError == true)")
        }
        #expect(try await chunks.values(1) == ["01"])
        request.cancel()
        #expect(try await chunks.values(2) == ["01", "true"])
    }

    @Test func `delays end in the order of the test clock`() async throws {
        let clock = TestClock()
        let transport = StubTransport(
            stubs: [
                Stub(.get("/slow"), StubAnswer.text("slow").delayed(by: .seconds(3600))),
                Stub(.get("/quick"), StubAnswer.text("quick").delayed(by: .seconds(60))),
            ], clock: clock)
        let session = Session(transport: transport)
        let seen = Recorder<String>()
        for path in ["/slow", "/quick"] {
            session.request(base + path).responseString {
                seen.record("\($0.value ?? "") \($0.metrics?.total ?? 0)")
            }
        }
        await clock.waiters(2)
        clock.advance(by: .seconds(59))
        #expect(seen.values.isEmpty && clock.waiting == 2)
        clock.advance(by: .seconds(1))
        #expect(try await seen.values(1) == ["quick 60000000"])
        clock.advance(by: .seconds(3600))
        #expect(try await seen.values(2).last == "slow 3600000000")
    }

    @Test func `interim responses are reported first, and trailers last`() async throws {
        let stubbed = StubAnswer.text("x").after(interim: 103, headers: ["Link": "</a.css>"])
            .trailing(["X-Sum": "1"])
        let transport = StubTransport(answers: [stubbed])
        let seen = HandlerProbe()
        _ = transport.start(
            TransferJob(request: HTTPRequest(url: URL(string: base))), handler: seen)
        let result = try await seen.results.values(1)[0]
        #expect(seen.heads.values == [103, 200])
        #expect(result.trailers?["X-Sum"] == "1")
        #expect(result.body == Data("x".utf8))
    }

    @Test(arguments: [("A b", "x"), ("", "x"), ("A", "x\r\nB: y"), ("A", "x\0")])
    func `a head that HTTP cannot represent is the server's error`(
        name: String, value: String
    ) async {
        let fields = HTTPHeaders([HTTPHeader(name: name, value: value)])
        var interim = StubAnswer.text("x")
        interim.interimHeads = [StubAnswer.InterimHead(statusCode: 103, headers: fields)]
        for answer in [
            StubAnswer(headers: fields), StubAnswer.text("x").trailing(fields), interim,
            StubAnswer(statusCode: 101, headers: fields),
        ] {
            let session = Session(transport: StubTransport { _ in answer })
            let response = await send(session, .get, "/")
            #expect(response.error?.transferError?.code == .badServerResponse)
        }
    }

    @Test(.timeLimit(.minutes(patience)))
    func `a body of many chunks is collected in linear time`() async {
        // If each chunk copied what came before, these would be half a terabyte.
        let body = Data(count: 8 << 20)
        let session = Session(
            transport: StubTransport { _ in StubAnswer(body: body, chunkSize: 64) })
        #expect(await send(session, .get, "/").data == body)
    }

    @Test func `each transfer of any kind has a unique identifier`() async throws {
        let directory = try TemporaryDirectory()
        try directory.write("x", to: "file")
        let first = Session(transport: StubTransport { _ in .status(200) })
        let second = Session(transport: StubTransport { _ in .failure(Self.unsupported) })
        var numbers: [UInt64] = []
        for _ in 0..<3 {
            for (session, url) in [
                (first, URL(string: base)!), (second, directory.url.appending(path: "file")),
            ] {
                let request = session.request(HTTPRequest(url: url))
                _ = await request.serializingUnserialized().response
                numbers += request.tasks.map(\.identifier)
            }
        }
        #expect(numbers.count >= 6)
        #expect(numbers == Array(Set(numbers)).sorted())
    }

    private static let unsupported = TransferError(code: .unsupportedURL, reason: "file:")
}

/// Records the callbacks of a transfer.
private final class HandlerProbe: TransferHandler {
    let heads = Recorder<Int>()
    let results = Recorder<TransferResult>()

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        heads.record(head.statusCode)
        return .proceed
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        results.record(result)
    }

    @Test func `a stream is sent with its declared length`() async throws {
        let session = Session(transport: StubTransport { _ in .status(204) })
        func upload(_ text: String, _ length: String) async -> DataResponse<Data, SessionError> {
            await session.upload(
                TestStream(text), to: "http://example.test/", headers: ["Content-Length": length]
            ).serializingData().response
        }
        let whole = await upload("123456", "6")
        #expect(whole.error == nil)
        #expect(whole.metrics?.isRequestBodyCut == false)
        let part = await upload("123456", "4")
        #expect(part.metrics?.requestBodyBytes == 4)
        #expect(part.metrics?.isRequestBodyCut == true)
        let short = await upload("123456", "7")
        #expect(short.error?.transferError?.reason.contains("says 7") == true)
        #expect(short.error?.transferError?.reason.contains("6 bytes") == true)
        // The largest number, after which no byte can be asked for.
        let longest = await upload("123456", "\(Int.max)")
        #expect(longest.error?.transferError?.reason.contains("6 bytes") == true)
    }
}

import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

@Suite struct ServerSentEventTests {
    private func events(_ text: String, by size: Int) -> [ServerSentEvent] {
        var parser = ServerSentEventParser()
        let bytes = Data(text.utf8)
        return stride(from: 0, to: bytes.count, by: size)
            .flatMap { parser.results(of: Data(bytes.dropFirst($0).prefix(size))) }
            .compactMap { try? $0.get() }
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `events are parsed with any chunk size and line ending`(size: Int) {
        let text =
            "\u{FEFF}: comment\nevent: add\r\ndata: one\rdata:two\r\rid: 7\nretry: 250\n"
            + "data:  é\n\nignored: x\ndata\n\nevent: lost\n\ndata: never ended\n"
        let expected = [
            ServerSentEvent(event: "add", data: "one\ntwo"),
            ServerSentEvent(data: " é", id: "7", retry: .milliseconds(250)),
            ServerSentEvent(data: "", id: "7", retry: .milliseconds(250)),
        ]
        #expect(events(text, by: size) == expected)
    }

    @Test func `events are the same for all chunk sizes`() {
        var random = SystemRandomNumberGenerator()
        let parts = [
            "data", "event", "id", "retry", ":", ": ", " ", "x", "é", "\u{FEFF}", "\0", "12", "\r",
            "\n",
            "\r\n", "\n\n", "data: y\n", "data\n",
        ]
        for _ in 0..<500 {
            let text = (0..<Int.random(in: 1...40, using: &random))
                .map { _ in parts.randomElement(using: &random) ?? "" }.joined()
            let byBytes = events(text, by: 1)
            for size in [2, 3, 5, 1000] { #expect(events(text, by: size) == byBytes, "\(text)") }
        }
    }

    /// If each line copied the data of the lines before it, the test would take hours.
    @Test(.timeLimit(.minutes(1)), arguments: ["data\n", "data:x\r", "data: x\r\n"])
    func `an event with many lines is parsed in linear time`(line: String) {
        let count = 400_000
        let text = String(repeating: line, count: count) + line.suffix(1) + "\n"
        let found = events(text, by: 16 << 10)
        #expect(found.count == 1)
        #expect(found.first?.data.utf8.count == count - 1 + (line.contains("x") ? count : 0))
    }

    @Test func `fields with other names are ignored`() {
        #expect(
            events("dat: 1\ndata1: 1\nDATA: 1\neven: 1\ndate: 1\nit: 1\ndata: d\n\n", by: 64) == [
                ServerSentEvent(data: "d")
            ])
    }

    @Test func `an id with NUL and an invalid retry are ignored`() {
        #expect(
            events("id: 1\nid: a\0b\nretry: 1x\nretry: -1\ndata: d\n\n", by: 5) == [
                ServerSentEvent(data: "d", id: "1")
            ])
    }

    @Test func `an event above the size limit is an error`() throws {
        for text in ["data: 0123456789", "data: 012\ndata: 345\ndata: 678\n"] {
            var parser = ServerSentEventParser(limit: 10)
            let results =
                parser.results(of: Data(text.utf8)) + parser.results(of: Data("more\n\n".utf8))
            #expect(results.count == 1)
            let error = #expect(throws: SessionError.self) { try results.at(0).get() }
            #expect(error?.underlyingError as? ServerSentEventError == .tooLarge(limit: 10))
        }
    }

    @Test(arguments: [false, true], [nil, DispatchQueue(label: "serializes")])
    func `an event above the size limit ends the request`(
        cancels: Bool, queue: DispatchQueue?
    ) async throws {
        let text = "data: 1\n\ndata: " + String(repeating: "x", count: 17 << 20)
        var answer = answer(200, "text/event-stream", text)
        // The server goes on sending.
        answer.stallsAtFailure = true
        answer.failureOffset = .max
        let session = Session(
            transport: StubTransport(answers: [answer]), serializationQueue: queue)
        let seen = Recorder<DataStreamRequest.Stream<ServerSentEvent, SessionError>>()
        session.streamRequest("http://example.test/", automaticallyCancelOnStreamError: cancels)
            .responseStreamServerSentEvents { seen.record($0) }
        let streams = try await seen.values(3)
        #expect(streams[0].value?.data == "1")
        let tooLarge = ServerSentEventError.tooLarge(limit: 16 << 20)
        #expect(streams[1].error?.underlyingError as? ServerSentEventError == tooLarge)
        let error = try #require(streams[2].completion?.error)
        #expect(error.isExplicitlyCancelledError == cancels)
        #expect(cancels || error.underlyingError as? ServerSentEventError == tooLarge)
    }

    @Test func `a request delivers events one at a time`() async {
        let body = "data: 1\n\ndata: 2\n\nevent: x\ndata: 3\n\n"
        let session = Session(
            transport: StubTransport(answers: [
                StubAnswer(
                    headers: ["Content-Type": "text/event-stream"], body: Data(body.utf8),
                    chunkSize: 20)
            ]))
        var seen: [ServerSentEvent] = []
        for await stream in session.streamRequest("http://example.test/").streamTask()
            .streamingServerSentEvents()
        {
            if let event = stream.value { seen.append(event) }
        }
        #expect(seen.map(\.data) == ["1", "2", "3"])
        #expect(seen.map(\.event) == ["message", "message", "x"])
    }

    @Test func `a retry begins with an empty parser`() async throws {
        let headers: HTTPHeaders = ["Content-Type": "text/event-stream"]
        var broken = StubAnswer(headers: headers, body: Data("data: half".utf8))
        broken.error = TransferErrors.lost
        broken.failureOffset = 100
        let whole = StubAnswer(headers: headers, body: Data("data: whole\n\n".utf8))
        let session = Session(
            transport: StubTransport(answers: [broken, whole]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let seen = Recorder<String>()
        session.streamRequest("http://example.test/").responseStreamServerSentEvents { stream in
            seen.record(stream.value?.data ?? "end")
        }
        #expect(try await seen.values(2) == ["whole", "end"])
    }

    // MARK: Responses that are no event stream

    private static let others: [(Int, String?)] = [
        (404, "text/event-stream"), (404, "text/html"), (204, nil), (201, "text/event-stream"),
        (200, "text/html; charset=utf-8"), (200, nil), (200, "text/event-stream-2"),
        (200, "text/plain"), (503, nil), (401, "text/event-stream"),
    ]

    private func answer(_ status: Int, _ type: String?, _ body: String) -> StubAnswer {
        var headers = HTTPHeaders()
        if let type { headers.add(name: "Content-Type", value: type) }
        return StubAnswer(statusCode: status, headers: headers, body: Data(body.utf8))
    }

    @Test(arguments: others, [true, false])
    func `a response that is not an event stream is an error with its status and type`(
        other: (status: Int, type: String?), isTask: Bool
    ) async throws {
        // The request must not wait for the end of the body: this one never ends.
        var answer = answer(other.status, other.type, "data: 1\n\n")
        answer.stallsAtFailure = true
        answer.failureOffset = 100
        let session = Session(transport: StubTransport(answers: [answer]))
        let request = session.streamRequest("http://example.test/")
        let seen = Recorder<DataStreamRequest.Stream<ServerSentEvent, SessionError>>()
        if isTask {
            for await stream in request.streamTask().streamingServerSentEvents() {
                seen.record(stream)
            }
        } else {
            request.responseStreamServerSentEvents { seen.record($0) }
        }
        let last = try #require(try await seen.values(1).first)
        let completion = try #require(last.completion)
        let error = try #require(completion.error)
        #expect(
            error.underlyingError as? ServerSentEventError
                == .notAnEventStream(statusCode: other.status, contentType: other.type))
        #expect(error.isResponseValidationError)
        #expect(error.responseCode == other.status)
        #expect("\(error)".contains("\(other.status)"))
        #expect("\(error)".contains(other.type ?? "no Content-Type"))
        #expect(completion.response?.statusCode == other.status)
        #expect(seen.values.count == 1)
    }

    @Test(arguments: ["text/event-stream", "Text/Event-Stream;charset=UTF-8", "text/event-stream "])
    func `the case and parameters of the content type are ignored`(type: String) async throws {
        let session = Session(
            transport: StubTransport(answers: [answer(200, type, "data: 1\n\n")]))
        let seen = Recorder<String>()
        session.streamRequest("http://example.test/").responseStreamServerSentEvents { stream in
            seen.record(stream.value?.data ?? "end \(stream.completion?.error == nil)")
        }
        #expect(try await seen.values(2) == ["1", "end true"])
    }

    @Test func `a redirect to an event stream may have another content type`() async throws {
        var redirect = answer(302, "text/html", "data: no\n\n")
        redirect.headers.add(name: "Location", value: "/events")
        let session = Session(
            transport: StubTransport(answers: [
                redirect, answer(200, "text/event-stream", "data: 1\n\n"),
            ]))
        let seen = Recorder<String>()
        session.streamRequest("http://example.test/").responseStreamServerSentEvents { stream in
            seen.record(stream.value?.data ?? "end \(stream.completion?.error == nil)")
        }
        #expect(try await seen.values(2) == ["1", "end true"])
    }

    @Test(arguments: [true, false])
    func `a redirect that is not followed is not an event stream`(isAsked: Bool) async throws {
        var redirect = answer(302, "text/event-stream", "data: no\n\n")
        redirect.headers.add(name: "Location", value: "/events")
        let session = Session(transport: StubTransport(answers: [redirect]))
        let seen = Recorder<String>()
        session.streamRequest("http://example.test/")
            .redirect(using: isAsked ? Redirector.modify { _, _, _ in nil } : .doNotFollow)
            .responseStreamServerSentEvents { stream in
                seen.record(stream.value?.data ?? "\(stream.completion?.error?.responseCode ?? 0)")
            }
        #expect(try await seen.values(1) == ["302"])
    }

    @Test func `a retrier may retry a response that is not an event stream`() async throws {
        let session = Session(
            transport: StubTransport(answers: [
                answer(503, "text/html", "busy"), answer(200, "text/event-stream", "data: 1\n\n"),
            ]),
            interceptor: RetryPolicy(exponentialBackoffScale: 0))
        let seen = Recorder<String>()
        session.streamRequest("http://example.test/").responseStreamServerSentEvents { stream in
            seen.record(stream.value?.data ?? "end \(stream.completion?.error == nil)")
        }
        #expect(try await seen.values(2) == ["1", "end true"])
    }
}

extension ServerSentEventParser {
    /// Returns the events of a piece.
    mutating func results(of data: Data) -> [Result<ServerSentEvent, SessionError>] {
        var results: [Result<ServerSentEvent, SessionError>] = []
        feed(data) { results.append($0) }
        return results
    }
}

import FoundationEssentials
import OutletHTTP
import OutletTesting
import Testing

@testable import OutletSession

@Suite struct ServerSentEventTests {
    private func events(_ text: String, by size: Int) -> [ServerSentEvent] {
        var parser = ServerSentEventParser()
        let bytes = Data(text.utf8)
        return stride(from: 0, to: bytes.count, by: size)
            .flatMap { parser.feed(Data(bytes.dropFirst($0).prefix(size))) }
            .compactMap { try? $0.get() }
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `events are read however the body is cut and lines end`(size: Int) {
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

    @Test func `an id with NUL and a retry that is no number are ignored`() {
        #expect(
            events("id: 1\nid: a\0b\nretry: 1x\nretry: -1\ndata: d\n\n", by: 5) == [
                ServerSentEvent(data: "d", id: "1")
            ])
    }

    @Test func `an event without end is an error, not all the memory`() throws {
        for text in ["data: 0123456789", "data: 012\ndata: 345\ndata: 678\n"] {
            var parser = ServerSentEventParser(limit: 10)
            let results = parser.feed(Data(text.utf8)) + parser.feed(Data("more\n\n".utf8))
            #expect(results.count == 1)
            let error = #expect(throws: SessionError.self) { try results[0].get() }
            #expect(error?.underlyingError as? ServerSentEventError == .tooLarge(limit: 10))
        }
    }

    @Test func `a request hands events over one at a time`() async {
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

    @Test func `an attempt begins with a fresh reader`() async throws {
        var broken = StubAnswer(body: Data("data: half".utf8))
        broken.error = TransferErrors.lost
        broken.failureOffset = 100
        let whole = StubAnswer(body: Data("data: whole\n\n".utf8))
        let session = Session(
            transport: StubTransport(answers: [broken, whole]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let seen = Events<String>()
        session.streamRequest("http://example.test/").responseStreamServerSentEvents { stream in
            seen.append(stream.value?.data ?? "end")
        }
        #expect(try await seen.wait(for: 2) == ["whole", "end"])
    }
}

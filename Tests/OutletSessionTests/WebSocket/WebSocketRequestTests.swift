import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests how WebSocket requests handle the events of their transport.
@Suite(.timeLimit(.minutes(patience))) final class WebSocketRequestTests: Sendable {
    private let sessions = KeptSessions()

    private func session(_ script: StubSocketStep...) -> Session {
        sessions.make(StubTransport { _ in .webSocket(script) })
    }

    // MARK: Factories and settings

    @Test func `the handshake has the URL, fields and settings of the factory`() async throws {
        let transport = StubTransport { _ in .webSocket([.close(.normalClosure)]) }
        let request = sessions.make(transport).webSocketRequest(
            to: "wss://example.org/chat", configuration: .protocol("a, b"),
            parameters: ["x": "1"], headers: ["X-Own": "yes"],
            requestModifier: { $0.headers.add(name: "X-Modified", value: "too") })
        _ = await request.events()
        let sent = try #require(transport.requests.first)
        #expect(sent.url?.absoluteString == "https://example.org/chat?x=1")
        #expect(sent.method == .get)
        #expect(sent.headers["Sec-WebSocket-Protocol"] == "a, b")
        #expect(sent.headers["X-Own"] == "yes")
        #expect(sent.headers["X-Modified"] == "too")
        #expect(sent.headers["User-Agent"] != nil)
        #expect(request.request?.url?.scheme == "wss")
    }

    @Test func `settings have the expected defaults`() {
        let usual = WebSocketRequest.Configuration.default
        #expect(usual.protocol == nil)
        #expect(usual.maximumMessageSize == 1_048_576)
        #expect(usual.pingInterval == nil)
        #expect(WebSocketRequest.Configuration.maximumMessageSize(7).maximumMessageSize == 7)
        #expect(WebSocketRequest.Configuration.pingInterval(3).pingInterval == 3)
        #expect(WebSocketRequest.Configuration.protocol("p").protocol == "p")
    }

    @Test func `all factories follow shouldAutomaticallyResume`() throws {
        let session = session(.close(.normalClosure))
        let address = "ws://example.org"
        let url = try #require(URL(string: address))
        let requests = [
            session.webSocketRequest(to: address, shouldAutomaticallyResume: false),
            session.webSocketRequest(
                to: address, parameters: ["a": "b"], shouldAutomaticallyResume: false),
            session.webSocketRequest(
                performing: HTTPRequest(url: url), shouldAutomaticallyResume: false),
        ]
        for request in requests {
            request.streamMessages { _ in }
            #expect(request.isInitialized)
        }
    }

    @Test func `close codes have the expected numbers`() {
        #expect(WebSocketCloseCode.normalClosure.rawValue == 1000)
        #expect(WebSocketCloseCode.tlsHandshakeFailure.rawValue == 1015)
        #expect(WebSocketCloseCode(rawValue: 4321).rawValue == 4321)
        #expect(WebSocketCloseCode(rawValue: 1001) == .goingAway)
    }

    @Test func `a transport without WebSockets is an unsupportedURL error`() async throws {
        let request = sessions.make(PlainTransport()).webSocketRequest(to: "ws://example.org")
        let sent = Recorder<Bool>()
        request.send(.string("x")) { sent.record((try? $0.get()) != nil) }
        let events = await request.events()
        #expect(events.count == 1)
        #expect(request.error?.failure?.code == .unsupportedURL)
        #expect(request.error?.failure?.reason.contains("WebSocket") == true)
        #expect(try await sent.values(1) == [false])
    }

    // MARK: Events

    @Test func `events are delivered in order on the given queue`() async throws {
        let session = session(.send(.string("a")), .send(.data(Data([1]))), .close(.goingAway))
        let queue = DispatchQueue(label: "wanted")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let names = Recorder<String>()
        session.webSocketRequest(to: "ws://example.org").streamMessageEvents(on: queue) { event in
            #expect(DispatchQueue.getSpecific(key: key) == true)
            names.record(event.kind.name)
        }
        #expect(
            try await names.values(5)
                == ["connected", "a", "1 bytes", "disconnected 1001", "completed"])
    }

    /// Notes each message, and returns it unchanged.
    private struct Noting: WebSocketMessageSerializer {
        let noted = Recorder<WebSocketMessage>()

        func decode(_ message: WebSocketMessage) throws -> WebSocketMessage {
            noted.record(message)
            return message
        }
    }

    @Test func `a concurrent queue gets one event at a time also with a serialization queue`()
        async throws
    {
        let texts = (0..<100).map { "\($0)" }
        let transport = StubTransport { _ in
            .webSocket(texts.map { .send(.string($0)) } + [.close(.normalClosure)])
        }
        let session = Session(
            transport: transport, serializationQueue: DispatchQueue(label: "serializes"))
        let serializer = Noting()
        let gate = try Gate()
        let seen = Recorder<String>()
        session.webSocketRequest(to: "ws://example.org").streamSerializer(
            serializer, on: DispatchQueue(label: "concurrent", attributes: .concurrent)
        ) { event in
            let name =
                switch event.kind {
                case .connected: "connected"
                case .receivedMessage(.string(let text)): text
                case .disconnected: "disconnected"
                case .completed: "completed"
                default: "?"
                }
            seen.record("begin \(name)")
            // Until all other messages could be delivered.
            #expect(gate.isOpen(within: .seconds(60)))
            seen.record("end \(name)")
        }
        try await serializer.noted.values(100)
        gate.open()
        let expected = (["connected"] + texts + ["disconnected", "completed"])
            .flatMap { ["begin \($0)", "end \($0)"] }
        #expect(try await seen.values(206) == expected)
        withExtendedLifetime(session) {}
    }

    @Test func `several handlers get the same events`() async throws {
        let gate = try Gate()
        let transport = StubTransport { _ in
            #expect(gate.isOpen(within: .seconds(60)))
            return .webSocket([.send(.string("a")), .close(.normalClosure)])
        }
        let request = sessions.make(transport).webSocketRequest(to: "ws://example.org")
        let first = Recorder<String>()
        let second = Recorder<String>()
        let messages = Recorder<WebSocketMessage>()
        request.streamMessageEvents { first.record($0.kind.name) }
        request.streamMessageEvents { second.record($0.kind.name) }
        request.streamMessages { messages.record($0) }
        gate.open()
        let wanted = ["connected", "a", "disconnected 1000", "completed"]
        #expect(try await first.values(4) == wanted)
        #expect(try await second.values(4) == wanted)
        #expect(try await messages.values(1) == [.string("a")])
    }

    @Test func `a handler added to a finished request gets only the completion`() async {
        let request = session(.close(.normalClosure)).webSocketRequest(to: "ws://example.org")
        #expect(await request.events().count == 3)
        let late = await request.events()
        #expect(late == ["completed"])
    }

    @Test func `a handler added to an open socket gets the connected event`() async throws {
        let request = session(.receive, .send(.string("a")), .close(.normalClosure))
            .webSocketRequest(to: "ws://example.org", configuration: .protocol("p"))
        let names = Recorder<String>()
        request.streamMessageEvents { names.record($0.kind.name) }
        try await names.values(1)
        let late = Recorder<String>()
        request.streamMessageEvents { late.record($0.kind.name) }
        request.send(.string("go")) { _ in }
        #expect(
            try await late.values(4) == ["connected", "a", "disconnected 1000", "completed"])
    }

    @Test(arguments: [("b", "connected b"), (", b ,", "connected b"), ("", "connected")])
    func `the chosen protocol is reported`(chosen: String, event: String) async {
        let transport = StubTransport { _ in
            .webSocket(protocol: chosen, [.close(.normalClosure)])
        }
        let request = sessions.make(transport).webSocketRequest(
            to: "ws://example.org", configuration: .protocol("a, b"))
        #expect(await request.events().first == event)
    }

    @Test func `the completion has request, response and metrics`() async throws {
        let request = session(.close(.normalClosure)).webSocketRequest(to: "ws://example.org/x")
        var completion: WebSocketRequest.Completion?
        for await event in request.webSocketTask().streamingMessageEvents() {
            if case .completed(let last) = event.kind { completion = last }
        }
        let last = try #require(completion)
        #expect(last.request?.url?.path() == "/x")
        #expect(last.response?.statusCode == 101)
        #expect(last.metrics != nil)
        #expect(last.error == nil)
    }

    // MARK: Decoding

    private struct Point: Codable, Sendable, Equatable {
        let x: Int
    }

    @Test func `messages are decoded, and failures are reported`() async throws {
        let script: [StubSocketStep] = [
            .send(.string(#"{"x":1}"#)), .send(.string("no")), .send(.data(Data(#"{"x":2}"#.utf8))),
            .close(.normalClosure),
        ]
        let request = sessions.make(StubTransport { _ in .webSocket(script) })
            .webSocketRequest(to: "ws://example.org")
        var points: [Point] = []
        var failures = 0
        for await event in request.webSocketTask().streamingDecodableEvents(Point.self) {
            if let point = event.message { points.append(point) }
            if case .serializerFailed(let error) = event.kind {
                guard case .decoding? = error as? DecodableWebSocketMessageDecoder<Point>.Error
                else { continue }
                failures += 1
            }
        }
        #expect(points == [Point(x: 1), Point(x: 2)])
        #expect(failures == 1)
        #expect(request.error == nil)
    }

    @Test func `a given decoder is used by all handlers`() async throws {
        struct Fixed: DataDecoder {
            func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D {
                try JSONDecoder().decode(type, from: Data(#"{"x":9}"#.utf8))
            }
        }
        let request = session(.receive, .send(.string("{}")), .close(.normalClosure))
            .webSocketRequest(to: "ws://example.org")
        let values = Recorder<Point>()
        request.streamDecodable(Point.self, using: Fixed()) { values.record($0) }
        request.streamDecodableEvents(Point.self, using: Fixed()) { event in
            if let message = event.message { values.record(message) }
        }
        request.streamSerializer(DecodableWebSocketMessageDecoder<Point>(decoder: Fixed())) {
            if let message = $0.message { values.record(message) }
        }
        request.send(.string("go")) { _ in }
        #expect(try await values.values(3) == [Point(x: 9), Point(x: 9), Point(x: 9)])
    }

    @Test func `tasks get decoded values`() async throws {
        let session = session(.send(.string(#"{"x":3}"#)), .close(.normalClosure))
        let task = session.webSocketRequest(to: "ws://example.org").webSocketTask()
        var values: [Point] = []
        for await value in task.streamingDecodable(Point.self) { values.append(value) }
        #expect(values == [Point(x: 3)])
        let json = session.webSocketRequest(to: "ws://example.org")
        let points = Recorder<Point>()
        json.streamSerializer(.json(decoding: Point.self)) { event in
            if let point = event.message { points.record(point) }
        }
        #expect(try await points.values(1) == [Point(x: 3)])
    }
}

/// A transport that implements only the required methods.
private final class PlainTransport: Transport {
    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        StubTransport(answers: [.status(200)]).start(job, handler: handler)
    }

    func shutDown() {}
}

extension SessionError {
    /// The error of a failed transfer; `nil` for other errors.
    var failure: TransferError? {
        guard case .sessionTaskFailed(let error) = self else { return nil }
        return error as? TransferError
    }
}

extension WebSocketRequest {
    /// Returns the names of all events until the end.
    func events() async -> [String] {
        var names: [String] = []
        for await event in webSocketTask().streamingMessageEvents() {
            names.append(event.kind.name)
        }
        return names
    }
}

extension WebSocketRequest.Event<WebSocketMessage, Never>.Kind {
    var name: String {
        switch self {
        case .connected(let name): name.map { "connected \($0)" } ?? "connected"
        case .receivedMessage(.string(let text)): text
        case .receivedMessage(.data(let data)): "\(data.count) bytes"
        case .disconnected(let code, let reason):
            "disconnected \(code.rawValue)"
                + (reason.map { " " + String(decoding: $0, as: UTF8.self) } ?? "")
        case .completed(let completion):
            switch completion.error {
            case nil: "completed"
            case .explicitlyCancelled: "completed explicitlyCancelled"
            case .sessionTaskFailed(let error):
                "completed \((error as? TransferError)?.code.rawValue ?? "\(error)")"
            case .some(let error): "completed \(error)"
            }
        }
    }
}

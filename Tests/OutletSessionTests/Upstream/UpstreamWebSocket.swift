import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

enum URLSessionWebSocketTask {
    typealias Message = WebSocketMessage
    typealias CloseCode = WebSocketCloseCode
}

private struct Value: Codable, Equatable, Sendable {
    var string = "s"
}

private struct Chat: URLRequestConvertible {
    func asURLRequest() throws -> URLRequest {
        try URLRequest(url: "ws://example.test/chat", method: .get)
    }
}

/// A serializer written for upstream: converts text to upper case.
private struct Shouting: WebSocketMessageSerializer {
    struct NoText: Error {}

    func decode(_ message: URLSessionWebSocketTask.Message) throws -> String {
        guard case .string(let text) = message else { throw NoText() }
        return text.uppercased()
    }
}

/// Uses WebSockets with upstream's names.
@Suite(.timeLimit(.minutes(patience))) struct UpstreamWebSocketTests {
    let url = "ws://example.test/chat"
    private let sessions = KeptSessions()

    private func session(_ script: StubSocketStep...) -> Session {
        sessions.make(StubTransport { _ in .webSocket(protocol: "chat", script) })
    }

    private func name<Success, Failure>(
        of kind: WebSocketRequest.Event<Success, Failure>.Kind
    ) -> String {
        switch kind {
        case let .connected(`protocol`): "connected \(`protocol` ?? "-")"
        case let .receivedMessage(message): "message \(message)"
        case let .serializerFailed(error): "failed \(type(of: error))"
        case let .disconnected(closeCode, reason):
            "disconnected \(closeCode.rawValue) \(reason?.count ?? 0)"
        case let .completed(completion):
            "completed \(completion.error.map { "\($0)" } ?? "-")"
        }
    }

    @Test func `WebSocket factories and settings have upstream names`() async throws {
        let session = session(.close(.normalClosure))
        let made: [WebSocketRequest] = [
            session.webSocketRequest(to: url),
            session.webSocketRequest(
                to: url, configuration: .default, headers: ["A": "1"], interceptor: .retryPolicy,
                shouldAutomaticallyResume: nil, requestModifier: { $0.timeoutInterval = 10 }),
            session.webSocketRequest(
                to: url, configuration: .maximumMessageSize(10), parameters: ["a": "b"],
                encoder: URLEncodedFormParameterEncoder.default, headers: nil, interceptor: nil,
                requestModifier: nil),
            session.webSocketRequest(performing: Chat()),
            session.webSocketRequest(
                performing: Chat(), configuration: .pingInterval(10), interceptor: nil),
            session.webSocketRequest(
                to: url,
                configuration: .init(
                    protocol: "chat", maximumMessageSize: 100, pingInterval: 5)),
        ]
        #expect(made[5].configuration.protocol == "chat")
        for request in made {
            let completions = Recorder<WebSocketRequest.Completion>()
            request.streamMessageEvents { event in
                guard case .completed(let completion) = event.kind else { return }
                completions.record(completion)
            }
            let completion = try #require(try await completions.values(1).first)
            #expect(completion.error == nil && completion.response?.statusCode == 101)
            #expect(completion.request?.url?.scheme == "ws" && completion.metrics != nil)
        }
    }

    @Test func `every kind of handler gets its events in order`() async throws {
        let session = session(
            .receive, .send(.string(#"{"string":"a"}"#)), .close(.goingAway, reason: Data([65])))
        let request = session.webSocketRequest(to: url)
        let events = Recorder<String>()
        let decoded = Recorder<String>()
        let shouted = Recorder<String>()
        let values = Recorder<Value>()
        let messages = Recorder<URLSessionWebSocketTask.Message>()
        request.streamMessageEvents(on: .global()) { event in
            let message: URLSessionWebSocketTask.Message? = event.message
            events.record(message == nil ? name(of: event.kind) : "message")
        }
        .streamDecodableEvents(Value.self, on: .global(), using: JSONDecoder()) { event in
            decoded.record(event.message.map { "value \($0.string)" } ?? name(of: event.kind))
        }
        .streamSerializer(Shouting(), on: .global()) { shouted.record(name(of: $0.kind)) }
        .streamDecodable(Value.self, on: .global()) { value in values.record(value) }
        .streamMessages(on: .global()) { message in messages.record(message) }
        let sent = Recorder<Bool>()
        request.send(.data(Data()), queue: .global()) { sent.record($0.isSuccess) }
        #expect(try await sent.values(1) == [true])
        #expect(
            try await events.values(4) == [
                "connected chat", "message", "disconnected 1001 1", "completed -",
            ])
        #expect(
            try await decoded.values(4) == [
                "connected chat", "value a", "disconnected 1001 1", "completed -",
            ])
        #expect(try await shouted.values(4)[1] == #"message {"STRING":"A"}"#)
        #expect(try await values.values(1) == [Value(string: "a")])
        #expect(try await messages.values(1).count == 1)
    }

    @Test func `a message that cannot be decoded is reported, and the next one is delivered`()
        async throws
    {
        let session = session(
            .send(.string("no JSON")), .send(.data(Data(#"{"string":"b"}"#.utf8))),
            .close(.normalClosure))
        let events = Recorder<String>()
        let errors = Recorder<any Error>()
        session.webSocketRequest(to: url).streamDecodableEvents(Value.self) { event in
            events.record(event.message?.string ?? name(of: event.kind))
            if case .serializerFailed(let error) = event.kind { errors.record(error) }
        }
        #expect(
            try await events.values(5) == [
                "connected chat", "failed Error", "b", "disconnected 1000 0", "completed -",
            ])
        guard
            case .decoding(let cause)? =
                errors.values.first as? DecodableWebSocketMessageDecoder<Value>.Error
        else {
            Issue.record("\(errors.values)")
            return
        }
        #expect(cause is DecodingError)
    }

    @Test func `closing in an event handler cancels the request without an error`()
        async throws
    {
        let request = session(.echo, .echo).webSocketRequest(to: url)
        let events = Recorder<String>()
        request.streamMessageEvents { event in
            events.record(name(of: event.kind))
            switch event.kind {
            case .connected: request.send(.string("Echo")) { _ in events.record("sent") }
            case .receivedMessage: event.close(sending: .normalClosure)
            default: break
            }
        }
        let seen = try await events.values(5)
        #expect(
            seen.filter { $0 != "sent" } == [
                "connected chat", #"message string("Echo")"#, "disconnected 1000 0", "completed -",
            ])
        #expect(request.isCancelled && request.error == nil)
    }

    @Test func `a cancel is reported in the completion only`() async throws {
        let request = session(.echo).webSocketRequest(to: url)
        let events = Recorder<String>()
        request.streamMessageEvents { event in
            events.record(name(of: event.kind))
            if case .connected = event.kind { event.cancel() }
        }
        let seen = try await events.values(2)
        #expect(seen == ["connected chat", "completed \(AFError.explicitlyCancelled)"])
        #expect(request.error?.isExplicitlyCancelledError == true)
    }

    @Test
    func `pongs are reported in order, and pings before the start or after the end are unsent`()
        async throws
    {
        let request = session(.echo).webSocketRequest(to: url)
        let early = Recorder<String>()
        @Sendable func note(_ response: WebSocketRequest.PingResponse) {
            switch response {
            case let .pong(pong):
                early.record(pong.latency >= 0 && pong.end >= pong.start ? "pong" : "wrong")
            case .error: early.record("error")
            case .unsent: early.record("unsent")
            }
        }
        request.sendPing(respondingOn: .global()) { note($0) }
        #expect(try await early.values(1) == ["unsent"])
        let answers = Recorder<Int>()
        request.streamMessageEvents { event in
            guard case .connected = event.kind else { return }
            for count in 0..<100 {
                event.sendPing { response in
                    guard case .pong = response else { return }
                    if count == 99 { request.close(sending: .normalClosure) }
                    answers.record(count)
                }
            }
        }
        #expect(try await answers.values(100) == Array(0..<100))
        request.sendPing { note($0) }
        #expect(try await early.values(2).last == "unsent")
    }

    @Test func `a retry policy repeats the handshake`() async throws {
        let session = sessions.make(
            StubTransport(answers: [.status(500), .webSocket([.close(.normalClosure)])]))
        let request = session.webSocketRequest(
            performing: Chat(), interceptor: .retryPolicy(exponentialBackoffScale: 0.001))
        let events = Recorder<String>()
        request.streamMessageEvents { events.record(name(of: $0.kind)) }
        #expect(
            try await events.values(3) == [
                "connected -", "disconnected 1000 0", "completed -",
            ])
        #expect(request.retryCount == 1)
    }

    @Test func `a WebSocket task streams, sends and closes`() async throws {
        let task: WebSocketTask = session(.echo).webSocketRequest(to: url).webSocketTask()
        var seen: [String] = []
        for await event in task.streamingMessageEvents(
            automaticallyCancelling: true, bufferingPolicy: .unbounded)
        {
            seen.append(name(of: event.kind))
            if case .connected = event.kind { try await task.send(.string("x")) }
            if event.message != nil { task.close(sending: .normalClosure, reason: nil) }
        }
        #expect(
            seen == [
                "connected chat", #"message string("x")"#, "disconnected 1000 0", "completed -",
            ])
        let json = URLSessionWebSocketTask.Message.string(#"{"string":"v"}"#)
        for await value in session(.send(json), .close(.normalClosure)).webSocketRequest(to: url)
            .webSocketTask().streamingDecodable(Value.self, using: JSONDecoder())
        {
            #expect(value.string == "v")
        }
        for await event in session(.send(json), .close(.normalClosure)).webSocketRequest(to: url)
            .webSocketTask().streamingDecodableEvents(Value.self)
        {
            if let value = event.message { #expect(value.string == "v") }
        }
        let left = session(.send(json), .echo).webSocketRequest(to: url)
        for await message in left.webSocketTask().streamingMessages() {
            #expect(message == json)
            break
        }
        #expect(left.isCancelled && left.error?.isExplicitlyCancelledError == true)
    }
}

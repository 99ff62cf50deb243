import Dispatch
import FoundationEssentials
import Outlet
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

/// WebSockets over libcurl, with a scripted server.
@Suite(.timeLimit(.minutes(patience))) final class WebSocketTests: Sendable {
    /// Requests end with their session, so it must last as long as the test.
    private let sessions = Lock<[Session]>([])

    func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        change(&configuration)
        let session = Session(configuration: configuration)
        sessions.withLock { $0.append(session) }
        return session
    }

    private func inlineSession() -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        let session = Session(configuration: configuration, delivery: .inline)
        sessions.withLock { $0.append(session) }
        return session
    }

    @Test func `events are delivered in order`() async throws {
        let server = try ScriptedServer.start(
            .upgrade(), .send(.text("one")), .send(.text("two")), .send(.close(1000, "bye")),
            .frame)
        let events = try await session().webSocketRequest(to: server.webSocketURL).names()
        #expect(
            events == ["connected", "one", "two", "disconnected 1000 bye", "completed"])
        #expect(try await server.frames.values(1)[0].closeCode == 1000)
    }

    @Test func `the handshake conforms to RFC 6455`() async throws {
        let server = try ScriptedServer.start(
            .upgrade(["Sec-WebSocket-Protocol: chat"]), .send(.close(1000)), .frame)
        let request = session().webSocketRequest(
            to: server.webSocketURL + "/path?x=1", configuration: .protocol("chat"),
            headers: ["Authorization": "Bearer abc", "Cookie": "a=b"])
        let events = try await request.names()
        #expect(events == ["connected chat", "disconnected 1000", "completed"])
        let head = try await server.requests.values(1)[0].head
        #expect(head.hasPrefix("GET /path?x=1 HTTP/1.1\r\n"))
        for line in [
            "Host: 127.0.0.1:\(server.port)", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: chat",
            "Authorization: Bearer abc", "Cookie: a=b",
        ] {
            #expect(head.contains("\r\n\(line)\r\n"))
        }
        #expect(request.response?.statusCode == 101)
        let metrics = try #require(request.metrics)
        #expect(metrics.httpVersion == "HTTP/1.1")
        #expect(metrics.requestHeaderBytes == Int64(head.utf8.count))
        #expect(metrics.responseHeaderBytes > 0)
        #expect(metrics.remoteAddress == "127.0.0.1:\(server.port)")
    }

    @Test(arguments: ["Upgrade", "Connection"])
    func `the handshake's own fields are refused with a reason`(name: String) async throws {
        let server = try ScriptedServer.start(.upgrade(), .frame)
        let events = try await session().webSocketRequest(
            to: server.webSocketURL, headers: [name: "h2c"]
        ).names()
        #expect(events.count == 1)
        #expect(events.first?.hasPrefix("completed Invalid request: header \(name): ") == true)
        #expect(server.connections.count == 0)
    }

    @Test(arguments: [0, 1, 125, 126, 65_535, 65_536, 1_000_000])
    func `messages of all sizes are echoed unchanged`(size: Int) async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let text = String(repeating: "ä", count: size / 2)
        let task = session().webSocketRequest(to: server.webSocketURL).webSocketTask()
        var received: [WebSocketMessage] = []
        for await event in task.streamingMessageEvents() {
            if case .connected = event.kind {
                try await task.send(.data(bytes))
                try await task.send(.string(text))
            }
            if let message = event.message { received.append(message) }
            if received.count == 2 { task.close(sending: .normalClosure) }
        }
        #expect(received == [.data(bytes), .string(text)])
        #expect(!server.frames.values.contains { !$0.isMasked })
    }

    @Test func `a fragmented message is one message, with a ping answered in between`() async throws
    {
        let server = try ScriptedServer.start(
            .upgrade(),
            .send(WebSocketFrame(opcode: .text, payload: [0xE2, 0x82], isFinal: false)),
            .send(WebSocketFrame(opcode: .ping, payload: [7])),
            .send(WebSocketFrame(opcode: .continuation, isFinal: false)),
            .send(WebSocketFrame(opcode: .continuation, payload: [0xAC])), .frame,
            .send(.close(1000)), .frame)
        let events = try await session().webSocketRequest(to: server.webSocketURL).names()
        #expect(events == ["connected", "€", "disconnected 1000", "completed"])
        #expect(
            try await server.frames.values(2)[0]
                == WebSocketFrame(opcode: .pong, payload: [7], isMasked: true))
    }

    @Test func `a message directly after the handshake response is not lost`() async throws {
        let server = try ScriptedServer.start(
            .upgrade(glued: [.text("glued"), .close(1000)]), .frame)
        let events = try await session().webSocketRequest(to: server.webSocketURL).names()
        #expect(events == ["connected", "glued", "disconnected 1000", "completed"])
    }

    // MARK: Closing

    @Test func `close reports its code and completes without an error`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let request = session().webSocketRequest(to: server.webSocketURL)
        let events = try await request.names { event in
            if case .connected = event.kind {
                event.close(sending: .goingAway, reason: Data("later".utf8))
            }
        }
        #expect(events == ["connected", "disconnected 1001 later", "completed"])
        #expect(request.isCancelled)
        #expect(request.error == nil)
        let frame = try await server.frames.values(1)[0]
        #expect(frame.closeCode == 1001)
        #expect(frame.isMasked)
    }

    @Test func `messages sent before close are transmitted first`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let request = session().webSocketRequest(to: server.webSocketURL)
        let sent = Recorder<Bool>()
        _ = try await request.names { event in
            guard case .connected = event.kind, let socket = event.socket else { return }
            for number in 0..<50 {
                socket.send(.string("\(number)")) { sent.record((try? $0.get()) != nil) }
            }
            socket.close(sending: .normalClosure)
        }
        let outcomes = try await sent.values(50)
        #expect(outcomes == Array(repeating: true, count: 50))
        let frames = try await server.frames.values(51)
        #expect(frames.prefix(50).map(\.text) == (0..<50).map { "\($0)" })
        #expect(try frames.at(50).closeCode == 1000)
    }

    @Test func `messages sent before cancel are transmitted first`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .frame, .frame)
        let request = inlineSession().webSocketRequest(to: server.webSocketURL)
        let events = try await request.names { event in
            guard case .connected = event.kind else { return }
            for text in ["one", "two"] { request.send(.string(text)) { _ in } }
            request.cancel()
        }
        #expect(events == ["connected", "completed explicitlyCancelled"])
        let payloads = try await server.frames.values(2).map(\.payload)
        #expect(payloads == [Array("one".utf8), Array("two".utf8)])
    }

    @Test func `a WebSocket that sends continuously does not block other requests`() async throws {
        let sink = try ScriptedServer.start(.upgrade(), .stall)
        let server = try ScriptedServer.start(.request, .respond(body: "there"))
        let session = inlineSession()
        let socket = session.webSocketRequest(to: sink.webSocketURL)
        let sent = Lock(0)
        let bodies = Recorder<String>()
        @Sendable func send() {
            guard bodies.values.isEmpty else { return }
            let count = sent.withLock { sent in
                sent += 1
                return sent
            }
            guard count <= 50_000 else {
                bodies.record("not served")
                socket.cancel()
                return
            }
            socket.send(.string("x")) { _ in send() }
        }
        _ = try await socket.names { event in
            guard case .connected = event.kind else { return }
            session.request(server.baseURL).responseString { response in
                bodies.record(response.value ?? "\(response)")
                socket.cancel()
            }
            send()
        }
        #expect(bodies.values == ["there"])
    }

    @Test func `cancel does not report a disconnection`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let request = session().webSocketRequest(to: server.webSocketURL)
        let events = try await request.names { event in
            if case .connected = event.kind { event.cancel() }
        }
        #expect(events == ["connected", "completed explicitlyCancelled"])
    }

    @Test(arguments: [nil, 1001, 1011, 1012, 1013, 1014, 3000, 4999])
    func `the close code of the server is reported and returned`(code: Int?) async throws {
        let server = try ScriptedServer.start(.upgrade(), .send(.close(code)), .frame)
        let events = try await session().webSocketRequest(to: server.webSocketURL).names()
        #expect(events == ["connected", "disconnected \(code ?? 1005)", "completed"])
        #expect(try await server.frames.values(1)[0].closeCode == code)
    }

    @Test func `a server that does not answer a close does not block the completion`() async throws
    {
        let server = try ScriptedServer.start(.upgrade(), .stall)
        let session = self.session { $0.timeoutIntervalForRequest = 1 }
        let request = session.webSocketRequest(to: server.webSocketURL)
        let events = try await request.names { event in
            if case .connected = event.kind { event.close(sending: .normalClosure) }
        }
        #expect(events == ["connected", "disconnected 1000", "completed"])
    }

    @Test func `a connection closed without a close frame is an error`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .send(.text("one")))
        let request = session().webSocketRequest(to: server.webSocketURL)
        let events = try await request.names()
        #expect(events == ["connected", "one", "completed networkConnectionLost"])
        #expect(request.transferError?.reason.contains("without a close frame") == true)
    }

    @Test func `a reset connection is an error`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .frame, .reset)
        let request = session().webSocketRequest(to: server.webSocketURL)
        let events = try await request.names { event in
            if case .connected = event.kind { event.socket?.send(.string("x")) { _ in } }
        }
        #expect(events == ["connected", "completed networkConnectionLost"])
    }

    // MARK: Protocol errors of the server

    @Test func `a message above the limit closes with 1009`() async throws {
        let server = try ScriptedServer.start(
            .upgrade(), .send(.text("four")), .send(.text("fiver")), .frame)
        let request = session().webSocketRequest(
            to: server.webSocketURL, configuration: .maximumMessageSize(4))
        let events = try await request.names()
        #expect(events == ["connected", "four", "completed dataLengthExceedsMaximum"])
        #expect(try await server.frames.values(1)[0].closeCode == 1009)
    }

    @Test func `fragments together above the limit close with 1009`() async throws {
        let server = try ScriptedServer.start(
            .upgrade(), .send(WebSocketFrame(opcode: .binary, payload: [1, 2, 3], isFinal: false)),
            .send(WebSocketFrame(opcode: .continuation, payload: [4, 5])), .frame)
        let request = session().webSocketRequest(
            to: server.webSocketURL, configuration: .maximumMessageSize(4))
        #expect(try await request.names() == ["connected", "completed dataLengthExceedsMaximum"])
        #expect(try await server.frames.values(1)[0].closeCode == 1009)
    }

    @Test(arguments: [
        (WebSocketFrame(opcode: .text, payload: [0xFF]), 1007),
        (WebSocketFrame(opcode: .text, payload: [0xC3]), 1007),
        (WebSocketFrame(opcode: .text, payload: [65], isMasked: true), 1002),
        (WebSocketFrame(opcode: .continuation, payload: [65]), 1002),
        (WebSocketFrame(opcode: .init(rawValue: 0x41), payload: [65]), 1002),
        (WebSocketFrame(opcode: .init(rawValue: 3), payload: [65]), 1002),
        (WebSocketFrame(opcode: .init(rawValue: 11), payload: [65]), 1002),
        (WebSocketFrame(opcode: .ping, payload: [65], isFinal: false), 1002),
        (WebSocketFrame(opcode: .ping, payload: Array(repeating: 0, count: 126)), 1002),
        (WebSocketFrame.close(999), 1002), (WebSocketFrame.close(1005), 1002),
    ])
    func `a protocol error closes with the right code`(frame: WebSocketFrame, code: Int)
        async throws
    {
        let server = try ScriptedServer.start(.upgrade(), .send(frame), .frame)
        let request = session().webSocketRequest(to: server.webSocketURL)
        #expect(try await request.names() == ["connected", "completed badServerResponse"])
        #expect(try await server.frames.values(1)[0].closeCode == code)
    }

    @Test(arguments: [
        "Upgrade: h2c", "Connection: close", "Sec-WebSocket-Accept: AAAA",
        "Sec-WebSocket-Protocol: other", "Sec-WebSocket-Extensions: permessage-deflate",
    ])
    func `the error of an invalid handshake response names the field`(line: String) async throws {
        let server = try ScriptedServer.start(.upgrade([line]), .stall)
        let request = session().webSocketRequest(
            to: server.webSocketURL, configuration: .protocol("chat"))
        #expect(try await request.names() == ["completed badServerResponse"])
        let name = try #require(line.split(separator: ":").first)
        #expect(request.transferError?.reason.contains(name) == true)
    }

    @Test(arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 1010 Switching Protocols\r\n\r\n"])
    func `a response to the handshake that is not HTTP is an error at its first line`(text: String)
        async throws
    {
        let server = try ScriptedServer.start(.requestHead, .send(text), .stall)
        let request = session().webSocketRequest(to: server.webSocketURL)
        #expect(try await request.names() == ["completed badServerResponse"])
        let line = text.prefix { $0 != "\r\n" }
        #expect(
            request.transferError?.reason == "the response does not begin with an HTTP status "
                + "line, but with '\(line)'")
    }

    @Test func `the error of a handshake with another status contains the status`() async throws {
        let server = try ScriptedServer.start(.request, .respond("403 Forbidden", body: "no"))
        let request = session().webSocketRequest(to: server.webSocketURL)
        #expect(try await request.names() == ["completed badServerResponse"])
        #expect(request.response?.statusCode == 403)
        #expect(request.transferError?.reason.contains("403") == true)
    }

    @Test func `a server that is silent after the handshake times out`() async throws {
        let server = try ScriptedServer.start(.requestHead, .stall)
        let session = self.session { $0.timeoutIntervalForRequest = 0.2 }
        let request = session.webSocketRequest(to: server.webSocketURL)
        #expect(try await request.names() == ["completed timedOut"])
    }

    // MARK: Pings

    @Test func `a hundred pings are answered in order`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let request = session().webSocketRequest(to: server.webSocketURL)
        let pongs = Recorder<Int>()
        _ = try await request.names { event in
            guard case .connected = event.kind, let socket = event.socket else { return }
            for number in 0..<100 {
                socket.sendPing { response in
                    guard case .pong(let pong) = response else { return }
                    #expect(pong.latency >= 0 && pong.end >= pong.start)
                    pongs.record(number)
                    if number == 99 { socket.close(sending: .normalClosure) }
                }
            }
        }
        #expect(pongs.values == Array(0..<100))
    }

    @Test func `automatic pings follow their pongs`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let request = session().webSocketRequest(
            to: server.webSocketURL, configuration: .pingInterval(0.01))
        request.streamMessages { _ in }
        let frames = try await server.frames.values(3)
        #expect(frames.allSatisfy { $0.opcode == .ping })
        request.close(sending: .normalClosure)
        #expect(try await request.names().last == "completed")
    }

    // MARK: TLS and proxies

    @Test func `a WebSocket can use TLS`() async throws {
        let nginx = try await Nginx.shared()
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let session = self.session {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        }
        let request = session.webSocketRequest(
            to: "wss://localhost:\(nginx.port(.tls))/socket/\(server.port)/")
        let large = String(repeating: "0123456789", count: 90_000)
        let events = try await request.names { event in
            switch event.kind {
            case .connected: event.socket?.send(.string(large)) { _ in }
            case .receivedMessage: event.close(sending: .normalClosure)
            default: break
            }
        }
        #expect(events == ["connected", large, "disconnected 1000", "completed"])
        #expect(request.metrics?.tls.hasPrefix("TLSv1.") == true)
    }

    @Test func `a self-signed certificate is refused`() async throws {
        let nginx = try await Nginx.shared()
        let request = session().webSocketRequest(
            to: "wss://localhost:\(nginx.port(.selfSigned))/")
        #expect(try await request.names() == ["completed serverCertificateUntrusted"])
    }

    @Test func `a WebSocket works through a reverse proxy`() async throws {
        let nginx = try await Nginx.shared()
        let server = try ScriptedServer.start(
            .upgrade(), .send(.text("hello")), .send(.close(1000)), .frame)
        let request = session().webSocketRequest(
            to: "ws://127.0.0.1:\(nginx.port())/socket/\(server.port)/")
        let events = try await request.names()
        #expect(events == ["connected", "hello", "disconnected 1000", "completed"])
    }

    @Test func `a WebSocket through a proxy uses a tunnel`() async throws {
        let proxy = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 Connected\r\n\r\n"), .upgrade(), .send(.close(1000)),
            .frame)
        let session = self.session { $0.proxy = .url("http://127.0.0.1:\(proxy.port)", except: []) }
        let events = try await session.webSocketRequest(to: "ws://far.invalid/x").names()
        #expect(events == ["connected", "disconnected 1000", "completed"])
        let requests = try await proxy.requests.values(2)
        #expect(try requests.at(0).head.hasPrefix("CONNECT far.invalid:80 HTTP/1.1\r\n"))
        #expect(try requests.at(1).head.hasPrefix("GET /x HTTP/1.1\r\n"))
    }

    @Test func `open WebSockets do not count towards the connection limit`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let session = self.session { $0.httpMaximumConnectionsPerHost = 1 }
        let requests = (0..<3).map { _ in session.webSocketRequest(to: server.webSocketURL) }
        let connected = Recorder<Int>()
        for (index, request) in requests.enumerated() {
            request.streamMessageEvents { event in
                if case .connected = event.kind { connected.record(index) }
            }
        }
        try await connected.values(3)
        for request in requests { request.cancel() }
    }
}

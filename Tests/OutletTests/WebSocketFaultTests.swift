import Dispatch
import FoundationEssentials
import Outlet
import OutletTestSupport
import Synchronization
import Testing

/// Faults of a WebSocket's connection, at each moment.
@Suite(.timeLimit(.minutes(patience))) final class WebSocketFaultTests: Sendable {
    private let session = Session(
        configuration: {
            var configuration = SessionConfiguration()
            configuration.proxy = .none
            configuration.streamBufferSize = 64 << 10
            return configuration
        }())

    /// Sends bytes up to a position, then closes or resets the connection.
    private func server(
        dropping position: Int, _ frames: [WebSocketFrame], isReset: Bool
    ) throws -> ScriptedServer {
        let steps: [Step] = [.upgrade(glued: frames, limit: position)] + (isReset ? [.reset] : [])
        return try ScriptedServer.start { _ in steps }
    }

    @Test(arguments: [false, true])
    func `a connection that ends at any byte is reported as one error`(isReset: Bool) async throws {
        let frames: [WebSocketFrame] = [
            WebSocketFrame(opcode: .ping, payload: [1]), .text("one"), .text("two"),
        ]
        let length = WebSocketFrame.acceptance(of: "").utf8.count + frames.flatMap(\.bytes).count
        try await withThrowingTaskGroup { group in
            for position in 0..<length {
                group.addTask { [self] in
                    let server = try server(dropping: position, frames, isReset: isReset)
                    let request = session.webSocketRequest(to: server.webSocketURL)
                    let names = try await request.names().joined(separator: " ")
                    let possible = ["", "connected ", "connected one ", "connected one two "]
                        .map { $0 + "completed networkConnectionLost" }
                    #expect(possible.contains(names), "at byte \(position)")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `an error contains the WebSocket's URL`() async throws {
        let faulty = try ScriptedServer.start(
            .upgrade(), .send(WebSocketFrame(opcode: .close, payload: [3])), .stall)
        let refusing = try ScriptedServer.start(.request, .respond())
        let redirecting = try ScriptedServer.start(
            .request, .respond("302 Found", headers: ["Location: ftp://a/"]))
        for (server, reason) in [
            (
                faulty,
                "the server broke the WebSocket protocol: it sent a close frame with half a code"
            ),
            (refusing, "the server answered 200 to the WebSocket handshake, not 101"),
            (
                redirecting,
                "redirect (302) cannot be followed: its Location: only http and https are spoken, "
                    + "not ftp"
            ),
        ] {
            let request = session.webSocketRequest(to: "\(server.webSocketURL)/")
            _ = try await request.names()
            #expect(
                request.error?.transferError?.description == "\(server.webSocketURL)/: \(reason)")
        }
    }

    @Test func `messages are read from single bytes`() async throws {
        let text = String(repeating: "ab€", count: 100)
        let frames = [
            WebSocketFrame.text(text),
            WebSocketFrame(opcode: .ping, payload: Array(text.utf8.prefix(125))),
            .close(1000, "it is late"),
        ]
        let server = try ScriptedServer.start(
            .upgrade(), .trickle(frames.flatMap(\.bytes), size: 1, interval: .microseconds(10)),
            .echo)
        let names = try await session.webSocketRequest(to: server.webSocketURL).names()
        #expect(names == ["connected", text, "disconnected 1000 it is late", "completed"])
    }

    @Test func `the size of the handshake's head is limited`() async throws {
        let line = "HTTP/1.1 101 " + String(repeating: "x", count: 100_000)
        let server = try ScriptedServer.start(.requestHead, .send(line), .stall)
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        configuration.maximumHeaderSize = 1000
        let session = Session(configuration: configuration)
        let request = session.webSocketRequest(to: server.webSocketURL)
        #expect(try await !request.names().contains("connected"))
        #expect(request.error?.transferError?.code == .headerFieldsExceedMaximum)
        withExtendedLifetime(session) {}
    }

    // MARK: Cancelling

    /// The moment at which a server stops.
    enum Standstill: CaseIterable {
        case accepting, answering, insideHead, open, insideMessage, closing

        var steps: [Step] {
            switch self {
            case .accepting: [.stall]
            case .answering: [.requestHead, .stall]
            case .insideHead: [.upgrade(limit: 40), .stall]
            case .open, .closing: [.upgrade(), .stall]
            case .insideMessage: [.upgrade(glued: [.text("half")], limit: 131), .stall]
            }
        }
    }

    @Test(arguments: Standstill.allCases)
    func `a WebSocket can be cancelled at each moment`(standstill: Standstill) async throws {
        let server = try ScriptedServer.start { _ in standstill.steps }
        let request = session.webSocketRequest(to: server.webSocketURL)
        let names = Recorder<String>()
        let ended = Once<Void>()
        let connected = Once<Void>()
        let sent = Once<Bool>()
        request.streamMessageEvents { event in
            names.record(event.kind.name)
            if case .connected = event.kind { connected.set(()) }
            if case .completed = event.kind { ended.set(()) }
        }
        switch standstill {
        case .accepting: try await server.connections.values(1)
        case .answering, .insideHead: try await server.requests.values(1)
        case .open, .insideMessage, .closing: try await connected.value()
        }
        if standstill == .closing {
            request.close(sending: .normalClosure)
            request.cancel()
            try await ended.value(within: .seconds(60))
            #expect(names.values == ["connected", "disconnected 1000", "completed"])
            return
        }
        request.send(.string("never")) { sent.set((try? $0.get()) != nil) }
        request.cancel()
        try await ended.value()
        #expect(ended.callCount == 1)
        #expect(names.values.last == "completed explicitlyCancelled")
        _ = try await sent.value()
        #expect(sent.callCount == 1)
        #expect(request.error?.isExplicitlyCancelledError == true)
        // The connection is closed, too.
        try await server.endings.values(1)
    }

    /// Sends messages without end, and reads nothing after the handshake.
    private func talker() throws -> ScriptedServer {
        try ScriptedServer.start(.upgrade(), .repeat(WebSocketFrame.text("tick").bytes))
    }

    @Test func `a close whose frame cannot be sent ends with the reason`() async throws {
        let server = try talker()
        for isCancelled in [false, true] {
            let session = Session(
                configuration: {
                    var configuration = SessionConfiguration()
                    configuration.proxy = .none
                    configuration.timeoutIntervalForRequest = isCancelled ? 600 : 1
                    return configuration
                }())
            let request = session.webSocketRequest(to: server.webSocketURL)
            // More than the buffers of both sockets hold.
            let sent = Once<SessionError?>()
            request.send(.data(Data(count: 16 << 20))) { result in
                guard case .failure(let error) = result else { return sent.set(nil) }
                sent.set(error as? SessionError)
            }
            let closed = Once<Void>()
            let names = Recorder<String>()
            request.streamMessageEvents { event in
                if case .connected = event.kind { request.close(sending: .normalClosure) }
                if event.kind.name != "tick" { names.record(event.kind.name) }
                if case .completed = event.kind { closed.set(()) }
            }
            if isCancelled {
                try await names.values(1)
                request.cancel()
            }
            try await closed.value()
            #expect(
                names.values == [
                    "connected",
                    isCancelled ? "completed explicitlyCancelled" : "completed timedOut",
                ])
            #expect(try await sent.value() == request.error)
        }
    }

    @Test func `a connection that is lost before the close frame was sent is an error`()
        async throws
    {
        let gate = try Gate()
        let server = try ScriptedServer.start(.upgrade(), .wait(gate), .reset)
        let request = session.webSocketRequest(to: server.webSocketURL)
        let sent = Once<SessionError?>()
        request.send(.data(Data(count: 16 << 20))) { result in
            guard case .failure(let error) = result else { return sent.set(nil) }
            sent.set(error as? SessionError)
        }
        let names = try await request.names { event in
            guard case .connected = event.kind else { return }
            event.close(sending: .normalClosure)
            gate.open()
        }
        #expect(names == ["connected", "completed networkConnectionLost"])
        #expect(try await sent.value()?.isSessionTaskError == true)
    }

    @Test func `a cancel at a random time ends socket, messages and pings once`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .send(.text("hello")), .echo)
        try await withThrowingTaskGroup { group in
            for _ in 0..<100 {
                group.addTask { [session] in
                    let request = session.webSocketRequest(to: server.webSocketURL)
                    let ended = Once<Void>()
                    let answers = Recorder<Bool>()
                    request.streamMessageEvents { event in
                        if case .completed = event.kind { ended.set(()) }
                    }
                    for _ in 0..<3 {
                        request.send(.data(Data(count: 1000))) {
                            answers.record((try? $0.get()) != nil)
                        }
                        request.sendPing { _ in answers.record(true) }
                    }
                    try await Task.sleep(for: .microseconds(Int.random(in: 0..<3000)))
                    if Bool.random() {
                        request.cancel()
                    } else {
                        request.close(sending: .goingAway)
                    }
                    try await ended.value()
                    try await answers.values(6)
                    #expect(ended.callCount == 1)
                    #expect(answers.count == 6)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a released session ends its WebSockets`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let ended = Once<SessionError?>()
        do {
            let session = Session()
            let connected = Once<Void>()
            session.webSocketRequest(to: server.webSocketURL).streamMessageEvents { event in
                if case .connected = event.kind { connected.set(()) }
                if case .completed(let completion) = event.kind { ended.set(completion.error) }
            }
            try await connected.value()
            withExtendedLifetime(session) {}
        }
        let error = try await ended.value()
        #expect(error?.isSessionDeinitializedError == true)
        try await server.endings.values(1)
    }

    // MARK: Flow

    @Test func `a slow handler stops reading from the server`() async throws {
        let message = WebSocketFrame(opcode: .binary, payload: Array(repeating: 7, count: 16 << 10))
        let count = 2000
        let all = Array(repeating: message.bytes, count: count).flatMap { $0 }
        let flushed = try Gate()
        let server = try ScriptedServer.start(
            .upgrade(), .send(all), .open(flushed), .send(.close(1000)), .frame)
        let request = session.webSocketRequest(to: server.webSocketURL)
        let taken = Recorder<Int>()
        let gate = try Gate()
        let ended = Once<SessionError?>()
        request.streamMessageEvents(on: DispatchQueue(label: "slow")) { event in
            if case .receivedMessage(.data(let data)) = event.kind {
                if taken.count == 0 { #expect(gate.isOpen(within: .seconds(60))) }
                taken.record(data.count)
            }
            if case .completed(let completion) = event.kind { ended.set(completion.error) }
        }
        // More than all buffers of both ends hold: the server cannot have sent everything.
        #expect(try await offPool { !flushed.isOpen(within: .milliseconds(300)) })
        gate.open()
        #expect(try await ended.value() == nil)
        #expect(taken.count == count)
    }

    @Test func `a suspended WebSocket does not read or write`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .upgrade(), .wait(gate), .send(.text("one")), .echo)
        let request = session.webSocketRequest(to: server.webSocketURL)
        let names = Recorder<String>()
        request.streamMessageEvents { names.record($0.kind.name) }
        try await names.values(1)
        request.suspend()
        let sent = Once<Bool>()
        request.send(.string("two")) { sent.set((try? $0.get()) != nil) }
        // The loop handles messages in order: calls made before another WebSocket was opened and
        // closed have been handled after that.
        try await openAndCloseAnother()
        gate.open()
        try await openAndCloseAnother()
        #expect(names.count == 1)
        #expect(sent.callCount == 0)
        request.resume()
        #expect(try await sent.value())
        #expect(try await names.values(3) == ["connected", "one", "two"])
        request.cancel()
    }

    private func openAndCloseAnother() async throws {
        let other = try ScriptedServer.start(.upgrade(), .send(.close(1000)), .frame)
        _ = try await session.webSocketRequest(to: other.webSocketURL).names()
    }

    @Test func `both ends can send large messages at the same time`() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        let request = session.webSocketRequest(to: server.webSocketURL)
        let received = Recorder<Int>()
        let count = 200
        let ended = Once<SessionError?>()
        request.streamMessageEvents { event in
            switch event.kind {
            case .receivedMessage(.data(let data)):
                received.record(data.count)
                if received.count == count { event.close(sending: .normalClosure) }
            case .completed(let completion): ended.set(completion.error)
            default: break
            }
        }
        for number in 0..<count { request.send(.data(Data(count: 100_000 + number))) { _ in } }
        #expect(try await ended.value() == nil)
        #expect(received.values == (0..<count).map { 100_000 + $0 })
    }
}

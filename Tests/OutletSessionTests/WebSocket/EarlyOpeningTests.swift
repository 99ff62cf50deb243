import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import Synchronization
import Testing

@testable import OutletTransport

/// Tests a WebSocket that opens before the transport's `connect(_:handler:)` has returned.
@Suite struct EarlyOpeningTests {
    @Test func `a WebSocket closed normally during connect is not cancelled afterwards`()
        async throws
    {
        let transport = LateTransport(closed: try Gate(), started: try Gate())
        let session = Session(transport: transport)
        let events = Recorder<String>()
        let request = session.webSocketRequest(
            to: "ws://example.org/", shouldAutomaticallyResume: false)
        // The thread that starts the request waits in the transport until the WebSocket is closed.
        DispatchQueue(label: "starts").async {
            request.streamMessageEvents(on: DispatchQueue(label: "hears")) { event in
                if case .connected = event.kind {
                    event.close(sending: .goingAway, reason: Data("later".utf8))
                    transport.closed.open()
                }
                events.record(event.kind.name)
            }
            request.resume()
            transport.started.open()
        }
        #expect(
            try await events.values(3)
                == ["connected", "disconnected 1001 later", "completed"])
        try await transport.started.opened()
        #expect(transport.cancels == 0)
        withExtendedLifetime(session) {}
    }

    @Test func `messages sent during connect are sent before the close`() async throws {
        let transport = LateTransport(closed: try Gate(), started: try Gate())
        let session = Session(transport: transport)
        let sent = Recorder<Bool>()
        let request = session.webSocketRequest(
            to: "ws://example.org/", shouldAutomaticallyResume: false)
        DispatchQueue(label: "starts").async {
            request.streamMessageEvents(on: DispatchQueue(label: "hears")) { event in
                guard case .connected = event.kind, let socket = event.socket else { return }
                for text in ["one", "two"] {
                    socket.send(.string(text)) { sent.record((try? $0.get()) != nil) }
                }
                socket.close(sending: .normalClosure)
                transport.closed.open()
            }
            request.resume()
        }
        #expect(try await sent.values(2) == [true, true])
        withExtendedLifetime(session) {}
    }
}

/// Tests calls of `close(sending:reason:)` while the handshake ends.
@Suite(.timeLimit(.minutes(patience))) struct `Closing while a WebSocket opens` {
    @Test func `a handler that gets connected gets disconnected, too`() async throws {
        let transport = OpeningTransport()
        let session = Session(transport: transport)
        for round in 1...2000 {
            let names = Recorder<String>()
            let ended = Once<Void>()
            let request = session.webSocketRequest(to: "ws://example.org/")
            request.streamMessageEvents { event in
                names.record(event.kind.name)
                if case .completed = event.kind { ended.set(()) }
            }
            let connection = try await transport.connections.values(round)[round - 1]
            let arrived = Atomic(0)
            let meet: @Sendable () -> Void = {
                arrived.add(1, ordering: .relaxed)
                while arrived.load(ordering: .relaxed) < 2 {}
            }
            connection.open(after: meet)
            try await offPool {
                meet()
                request.close(sending: .normalClosure)
            }
            try await ended.value()
            let seen = names.values
            guard seen == ["completed"] || seen == ["connected", "disconnected 1000", "completed"]
            else {
                Issue.record("\(seen)")
                break
            }
        }
    }
}

private final class OpeningTransport: Transport {
    let connections = Recorder<OpeningConnection>()

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        StubTransport(answers: [.status(200)]).start(job, handler: handler)
    }

    func connect(_ job: WebSocketJob, handler: any WebSocketHandler) -> any WebSocketConnection {
        let connection = OpeningConnection(handler)
        connections.record(connection)
        return connection
    }

    func shutDown() {}
}

/// A WebSocket whose handshake ends when ``open(after:)`` is called, and whose peer closes at once.
private final class OpeningConnection: WebSocketConnection {
    let identifier = TransferIdentifier.next()
    private let queue = DispatchQueue(label: "loop")
    private let handler: Lock<(any WebSocketHandler)?>

    init(_ handler: any WebSocketHandler) { self.handler = Lock(handler) }

    func open(after wait: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            guard let handler = handler.withLock({ $0 }) else { return }
            let turn = TransportTurn()
            wait()
            let head = HTTPResponse(url: nil, statusCode: 101)
            _ = handler.transfer(self, didReceive: head, turn: turn)
            turn.end()
        }
    }

    func cancel() { finish(.cancelled) { _, _ in } }

    func close(code: WebSocketCloseCode, reason: Data?) {
        finish(nil) { handler, turn in
            handler.webSocket(self, didCloseWith: code, reason: reason, turn: turn)
        }
    }

    private func finish(
        _ error: TransferError?,
        _ report: @escaping @Sendable (any WebSocketHandler, TransportTurn) -> Void
    ) {
        queue.async { [self] in
            guard let handler = handler.withLock({ $0.take() }) else { return }
            let turn = TransportTurn()
            report(handler, turn)
            handler.transferDidFinish(self, result: TransferResult(error: error), turn: turn)
            turn.end()
        }
    }

    func suspend() {}
    func resume() {}

    func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) { completion(.success(())) }

    func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void) {
        completion(.success(()))
    }
}

/// Returns a connection only after the gate `closed` is opened.
private final class LateTransport: Transport {
    let closed: Gate
    let started: Gate
    private let base = StubTransport { _ in .webSocket([.echo]) }
    private let connection = Lock<CountingConnection?>(nil)

    var cancels: Int { connection.withLock { $0?.cancels ?? -1 } }

    init(closed: Gate, started: Gate) {
        self.closed = closed
        self.started = started
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        base.start(job, handler: handler)
    }

    func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        let counting = CountingConnection(base.connect(job, handler: handler))
        connection.withLock { $0 = counting }
        _ = closed.isOpen(within: .seconds(60))
        return counting
    }

    func shutDown() { base.shutDown() }
}

/// Counts the calls of `cancel()`.
private final class CountingConnection: WebSocketConnection {
    private let inner: any WebSocketConnection
    private let count = Lock(0)

    init(_ inner: any WebSocketConnection) { self.inner = inner }

    var cancels: Int { count.withLock { $0 } }
    var identifier: UInt64 { inner.identifier }

    func cancel() {
        count.withLock { $0 += 1 }
        inner.cancel()
    }

    func suspend() { inner.suspend() }
    func resume() { inner.resume() }

    func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) {
        inner.send(message, completion: completion)
    }

    func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void) {
        inner.sendPing(completion: completion)
    }

    func close(code: WebSocketCloseCode, reason: Data?) { inner.close(code: code, reason: reason) }
}

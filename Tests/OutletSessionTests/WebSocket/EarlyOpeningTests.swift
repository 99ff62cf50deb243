import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

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

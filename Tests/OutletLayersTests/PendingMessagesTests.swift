import FoundationEssentials
import OutletHTTP
import OutletTesting
import OutletTransport
import Testing

@testable import OutletLayers

/// Messages that are sent to a WebSocket before, at and after its opening.
@Suite final class PendingMessagesTests: Sendable {
    /// Records what it sends.
    private final class Connection: WebSocketConnection {
        let identifier = TransferIdentifier.next()
        private let messages = Lock<[WebSocketMessage]>([])

        var sent: [WebSocketMessage] { messages.withLock { $0 } }

        func send(
            _ message: WebSocketMessage,
            completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
        ) {
            messages.withLock { $0.append(message) }
            completion(.success(()))
        }

        func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void) {
            completion(.success(()))
        }

        func close(code: WebSocketCloseCode, reason: Data?) {}
        func cancel() {}
        func suspend() {}
        func resume() {}
    }

    private let pending = PendingMessages()
    private let connection = Connection()
    private let results = Lock<[TransferError?]>([])

    private func send(_ text: String) {
        pending.send(.string(text)) { [self] result in
            let error: TransferError? = if case .failure(let error) = result { error } else { nil }
            results.withLock { $0.append(error) }
        }
    }

    @Test func `messages sent before and after the opening reach the connection in order`() {
        send("before")
        pending.open(connection)
        send("after")
        #expect(connection.sent == [.string("before"), .string("after")])
        #expect(results.withLock { $0 } == [nil, nil])
    }

    @Test func `messages fail with the error of the end, and later ones are refused`() {
        send("before")
        pending.end(.cancelled)
        send("after")
        #expect(results.withLock { $0.map { $0?.code } } == [.cancelled, .networkConnectionLost])
        #expect(connection.sent.isEmpty)
    }
}

import OutletTransport

/// The messages and pings of a WebSocket that is not open yet.
///
/// Thread: any. Connections are called outside the lock.
final class PendingMessages: Sendable {
    /// A message or a ping to be sent.
    private struct Order: Sendable {
        let begin: @Sendable (any WebSocketConnection) -> Void
        let fail: @Sendable (TransferError) -> Void
    }

    private enum State {
        case waiting([Order])
        case open(any WebSocketConnection)
        case over
    }

    private let state = Lock(State.waiting([]))

    /// Whether messages are sent to the connection at once.
    var isOpen: Bool {
        state.withLock { state in
            if case .open = state { true } else { false }
        }
    }

    /// Sends a message, now or once the connection is open.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - completion: Receives the result once.
    func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) {
        carryOut(
            Order(
                begin: { $0.send(message, completion: completion) },
                fail: { completion(.failure($0)) }))
    }

    /// Sends a ping, now or once the connection is open.
    ///
    /// - Parameter completion: Receives the result once.
    func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void) {
        carryOut(
            Order(
                begin: { $0.sendPing(completion: completion) },
                fail: { completion(.failure($0)) }))
    }

    private func carryOut(_ order: Order) {
        let (isWaiting, connection) = state.withLock {
            state -> (Bool, (any WebSocketConnection)?) in
            switch state {
            case .waiting(let orders):
                state = .waiting(orders + [order])
                return (true, nil)
            case .open(let connection): return (false, connection)
            case .over: return (false, nil)
            }
        }
        guard !isWaiting else { return }
        guard let connection else { return order.fail(.webSocketIsOver) }
        order.begin(connection)
    }

    /// Passes the waiting messages to an open connection, and later ones at once.
    func open(_ connection: any WebSocketConnection) {
        while true {
            let orders = state.withLock { state -> [Order] in
                guard case .waiting(let orders) = state else { return [] }
                state = orders.isEmpty ? .open(connection) : .waiting([])
                return orders
            }
            guard !orders.isEmpty else { return }
            for order in orders { order.begin(connection) }
        }
    }

    /// Ends the queue: nothing more is sent, and waiting messages fail.
    func end(_ error: TransferError) {
        let orders = state.withLock { state -> [Order] in
            defer { state = .over }
            guard case .waiting(let orders) = state else { return [] }
            return orders
        }
        for order in orders { order.fail(error) }
    }
}

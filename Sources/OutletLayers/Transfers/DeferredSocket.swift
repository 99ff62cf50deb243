package import Dispatch
package import FoundationEssentials
package import OutletTransport

/// A WebSocket that opens after an asynchronous decision about it.
///
/// Messages are queued until then.
package final class DeferredSocket: DeferredTransfer, WebSocketConnection, @unchecked Sendable {
    private let orders = PendingMessages()

    /// Starts the decision, and opens the WebSocket when it has been made.
    ///
    /// The parameters are those of `DeferredTransfer.start`.
    package static func start(
        _ job: WebSocketJob, on queue: DispatchQueue, handler: any WebSocketHandler,
        asking question: Question<WebSocketJob>,
        begin:
            @escaping @Sendable (WebSocketJob, any WebSocketHandler) -> any WebSocketConnection
    ) -> DeferredSocket {
        let socket = DeferredSocket(job.request, reportsProgress: false, on: queue, handler)
        socket.ask(question) { job in
            let isBegun = socket.inner.begin { _ in begin(job, socket) }
            // The connection queues messages itself until it is open.
            if isBegun, let connection = socket.connection { socket.orders.open(connection) }
            return isBegun
        }
        return socket
    }

    private var connection: (any WebSocketConnection)? { inner.connection }

    package func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) {
        orders.send(message, completion: completion)
    }

    package func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void) {
        orders.sendPing(completion: completion)
    }

    /// Closes the WebSocket; cancels it if there is no connection yet.
    package func close(code: WebSocketCloseCode, reason: Data?) {
        guard let connection else { return cancel() }
        connection.close(code: code, reason: reason)
    }

    override func finish(_ result: TransferResult, turn: TransportTurn) {
        orders.end(result.error ?? .webSocketIsOver)
        super.finish(result, turn: turn)
    }
}

extension DeferredSocket: WebSocketHandler {
    package func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision {
        (handler as? any WebSocketHandler)?.webSocket(self, didReceive: message, turn: turn)
            ?? .cancel
    }

    package func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn
    ) {
        (handler as? any WebSocketHandler)?.webSocket(
            self, didCloseWith: code, reason: reason, turn: turn)
    }
}

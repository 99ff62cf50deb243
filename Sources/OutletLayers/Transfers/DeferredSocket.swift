package import Dispatch
package import FoundationEssentials
package import OutletTransport

/// A WebSocket that is opened after an asynchronous decision.
///
/// Messages wait until then.
package final class DeferredSocket: DeferredTransfer, WebSocketConnection, @unchecked Sendable {
    private let orders = SocketOrders()

    /// Begins to wait for the answer; parameters as for ``DeferredTransfer``.
    package static func start(
        _ job: WebSocketJob, on queue: DispatchQueue, handler: any WebSocketHandler,
        asking question: Question<WebSocketJob>,
        begin:
            @escaping @Sendable (WebSocketJob, any WebSocketHandler) -> any WebSocketConnection
    ) -> DeferredSocket {
        let socket = DeferredSocket(job.request, reportsProgress: false, on: queue, handler)
        socket.ask(question) { job in
            let isBegun = socket.inner.begin { _ in begin(job, socket) }
            // It queues messages itself until it is open.
            if isBegun, let connection = socket.connection { socket.orders.open(connection) }
            return isBegun
        }
        return socket
    }

    private var connection: (any WebSocketConnection)? {
        inner.task as? any WebSocketConnection
    }

    package func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) {
        orders.send(message, to: connection, completion: completion)
    }

    package func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void) {
        orders.sendPing(to: connection, completion: completion)
    }

    /// Before there is a connection, closing is cancelling.
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

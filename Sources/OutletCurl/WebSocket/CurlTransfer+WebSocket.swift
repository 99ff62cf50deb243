import FoundationEssentials
import OutletTransport

extension CurlTransfer: WebSocketConnection {
    func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) {
        post(WebSocketOrder(.send(message), of: self, completion: completion))
    }

    func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void) {
        post(WebSocketOrder(.ping, of: self, completion: completion))
    }

    func close(code: WebSocketCloseCode, reason: Data?) {
        post(WebSocketOrder(.close(code, reason: reason), of: self))
    }

    private func post(_ order: WebSocketOrder) {
        guard loop?.post(.order(order)) == true else {
            return order.answer(.failure(.webSocketClosed))
        }
    }
}

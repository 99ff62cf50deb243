import FoundationEssentials
import OutletTestSupport
import OutletTransport

/// Records the end of a WebSocket.
final class SocketEnd: WebSocketHandler {
    private let end: Once<TransferResult>

    init(_ end: Once<TransferResult>) { self.end = end }

    func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision { .proceed }

    func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn
    ) {}

    func transferDidFinish(
        _ task: any TransferTask, result: TransferResult, turn: TransportTurn
    ) { end.set(result) }
}

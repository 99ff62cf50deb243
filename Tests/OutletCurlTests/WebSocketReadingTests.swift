import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletCurl
@testable import OutletTransport

@Suite(.timeLimit(.minutes(patience))) struct `Reading from a WebSocket` {
    /// Suspends and resumes its WebSocket often, and counts the loop's orders to continue reading.
    private final class Restless: WebSocketHandler {
        private let state = Lock((messages: 0, orders: 0))
        let end = Once<TransferResult>()

        /// The most orders that the loop had at once.
        var mostOrders: Int { state.withLock { $0.orders } }

        func webSocket(
            _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
            turn: TransportTurn
        ) -> TransferDecision {
            let orders = (connection as? CurlTransfer)?.loop?.messages.count { message in
                guard case .order(let order) = message, case .goOn = order.kind else {
                    return false
                }
                return true
            }
            let count = state.withLock { state in
                state.messages += 1
                state.orders = max(state.orders, orders ?? 0)
                return state.messages
            }
            if count % 8 == 0 {
                connection.suspend()
                connection.resume()
            }
            return .proceed
        }

        func webSocket(
            _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
            reason: Data?, turn: TransportTurn
        ) {}

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) { end.set(result) }
    }

    @Test func `at most one order to continue reading waits, however often it is resumed`()
        async throws
    {
        let frame = WebSocketFrame(
            opcode: .binary, payload: [UInt8](repeating: 1, count: 60_000)
        ).bytes
        let server = try ScriptedServer.start(
            .upgrade(), .send(Array(repeatElement(frame, count: 150).joined())),
            .send(.close(1000)), .frame)
        let handler = Restless()
        _ = CurlTransport.test().connect(
            WebSocketJob(request: HTTPRequest(url: URL(string: server.baseURL))),
            handler: handler)
        #expect(try await handler.end.value().error == nil)
        #expect(handler.mostOrders <= 1)
    }
}

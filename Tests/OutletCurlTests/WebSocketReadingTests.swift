import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletCurl
@testable import OutletTransport

@Suite(.timeLimit(.minutes(patience))) struct `Reading from a WebSocket` {
    /// Counts messages, and calls a closure for each.
    private final class Counter: WebSocketHandler {
        private let count = Lock(0)
        private let react: @Sendable (Counter, any WebSocketConnection) -> Void
        let end = Once<TransferResult>()

        init(_ react: @escaping @Sendable (Counter, any WebSocketConnection) -> Void) {
            self.react = react
        }

        /// The number of messages received.
        var messages: Int { count.withLock { $0 } }

        func webSocket(
            _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
            turn: TransportTurn
        ) -> TransferDecision {
            count.withLock { $0 += 1 }
            react(self, connection)
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

    @Test func `no message is lost, however often the connection is suspended and resumed`()
        async throws
    {
        let frame = WebSocketFrame(
            opcode: .binary, payload: [UInt8](repeating: 1, count: 60_000)
        ).bytes
        let server = try ScriptedServer.start(
            .upgrade(), .send(Array(repeatElement(frame, count: 150).joined())),
            .send(.close(1000)), .frame)
        let handler = Counter { counter, connection in
            guard counter.messages % 8 == 0 else { return }
            connection.suspend()
            connection.resume()
        }
        _ = CurlTransport.test().connect(
            WebSocketJob(request: HTTPRequest(url: URL(string: server.baseURL))),
            handler: handler)
        #expect(try await handler.end.value().error == nil)
        #expect(handler.messages == 150)
    }

    @Test func `many small frames do not hold up the loop`() async throws {
        let frame = WebSocketFrame(opcode: .binary, payload: []).bytes
        let server = try ScriptedServer.start(
            .upgrade(), .send(Array(repeatElement(frame, count: 1 << 20).joined())),
            .send(.close(1000)), .frame)
        let transport = CurlTransport.test()
        let executor = try #require(transport.taskExecutor)
        let seen = Once<Int>()
        let handler = Counter { counter, _ in
            guard counter.messages == 1000 else { return }
            Task(executorPreference: executor) { seen.set(counter.messages) }
        }
        _ = transport.connect(
            WebSocketJob(request: HTTPRequest(url: URL(string: server.baseURL))),
            handler: handler)
        // Half of what 32 reads contain.
        #expect(try await seen.value() < 1 << 17)
        #expect(try await handler.end.value().error == nil)
        #expect(handler.messages == 1 << 20)
    }
}

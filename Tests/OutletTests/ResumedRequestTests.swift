import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Requests that are suspended and resumed, to a server that does not respond.
@Suite struct ResumedRequestTests {
    private let session = Session.isolated { $0.timeoutIntervalForRequest = 0.5 }

    @Test(arguments: RequestKind.allCases)
    func `a resumed request still times out`(kind: RequestKind) async throws {
        let server = try ScriptedServer.start(.requestHead, .stall)
        let request = kind.request(server.baseURL, by: session)
        let ended = ExactlyOnce<RequestKind.Outcome>()
        RequestKind.handle(request, ended.completion())
        try await server.requests.values(1)
        request.suspend()
        request.resume()
        let outcome = try #require(try await ended.values().first)
        #expect(outcome.transfer?.code == .timedOut)
    }

    @Test func `a resumed WebSocket handshake still times out`() async throws {
        let server = try ScriptedServer.start(.requestHead, .stall)
        let request = session.webSocketRequest(to: "ws://127.0.0.1:\(server.port)/")
        let ended = Once<SessionError?>()
        request.streamMessageEvents { event in
            if case .completed(let completion) = event.kind { ended.set(completion.error) }
        }
        try await server.requests.values(1)
        request.suspend()
        request.resume()
        #expect(try await ended.value()?.transferError?.code == .timedOut)
    }

    @Test func `the timeout of a WebSocket handshake covers a slow response`()
        async throws
    {
        let response = Array(
            ("HTTP/1.1 101 Switching Protocols\r\n" + String(repeating: "A: b\r\n", count: 50)).utf8
        )
        let server = try ScriptedServer.start(
            .requestHead, .trickle(response, size: 4, interval: .milliseconds(50)))
        let request = session.webSocketRequest(to: "ws://127.0.0.1:\(server.port)/")
        let ended = Once<SessionError?>()
        request.streamMessageEvents { event in
            if case .completed(let completion) = event.kind { ended.set(completion.error) }
        }
        #expect(try await ended.value()?.transferError?.code == .timedOut)
    }
}

import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Endless bodies of responses that are not delivered.
@Suite(.timeLimit(.minutes(1))) struct DroppedBodyTests {
    private let endless = [UInt8](repeating: 0x2E, count: 2 << 20)

    @Test func `a challenge with an endless body is answered`() async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [
                    .request,
                    .send("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\n\r\n"),
                    .send(endless), .stall,
                ] : [.request, .respond(body: "in")]
        }
        defer { server.stop() }
        let session = Session.isolated { $0.timeoutIntervalForRequest = 0 }
        let response = await session.request(server.baseURL)
            .authenticate(username: "ada", password: "secret").serializingString().response
        #expect(response.value == "in")
        #expect(server.connections.count == 2)
    }

    @Test(arguments: [
        "401 No\r\nWWW-Authenticate: Basic realm=x", "307 Elsewhere\r\nLocation: /there",
    ])
    func `a challenge or redirect of a WebSocket with an endless body is answered`(head: String)
        async throws
    {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .send("HTTP/1.1 \(head)\r\n\r\n"), .send(endless), .stall]
                : [.upgrade(), .send(.close(1000)), .frame]
        }
        defer { server.stop() }
        let session = Session.isolated { $0.timeoutIntervalForRequest = 0 }
        let request = session.webSocketRequest(to: server.webSocketURL)
            .authenticate(username: "ada", password: "secret")
        #expect(try await request.names() == ["connected", "disconnected 1000", "completed"])
    }

    @Test func `a WebSocket that is refused with an endless body fails`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 403 No\r\n\r\n"), .send(endless), .stall)
        defer { server.stop() }
        let session = Session.isolated { $0.timeoutIntervalForRequest = 0 }
        let request = session.webSocketRequest(to: server.webSocketURL)
        #expect(try await request.names().count == 1)
        #expect(request.error?.responseCode == 403)
    }

    @Test(arguments: RequestKind.allCases, [false, true])
    func `a redirect with an endless body is followed`(
        kind: RequestKind, isWatched: Bool
    ) async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [
                    .request, .send("HTTP/1.1 307 Elsewhere\r\nLocation: /there\r\n\r\n"),
                    .send(endless), .stall,
                ] : [.request, .respond(body: "there")]
        }
        defer { server.stop() }
        let session = Session.isolated { $0.timeoutIntervalForRequest = 0 }
        let request = kind.request(server.baseURL, by: session)
        let heads = Recorder<Int>()
        if isWatched, let request = request as? any EarlyResponseRequest {
            request.onHTTPResponse { heads.record($0.statusCode) }
        }
        let outcome = try await RequestKind.outcome(of: request, by: session)
        #expect(outcome.error == nil)
        #expect(outcome.text == "there")
        #expect(server.requests.count == 2)
        #expect(heads.values.allSatisfy { $0 == 200 })
    }

    @Test(arguments: RequestKind.allCases)
    func `the body of a redirect that is not followed is delivered completely`(kind: RequestKind)
        async throws
    {
        let server = try ScriptedServer.start { _ in
            [.request, .send("HTTP/1.1 307 Elsewhere\r\nLocation: /there\r\n\r\n"), .send(endless)]
        }
        defer { server.stop() }
        let session = Session.isolated()
        for handler in [Redirector.doNotFollow, .init(behavior: .modify { _, _, _ in nil })] {
            let request = kind.request(server.baseURL, by: session).redirect(using: handler)
            let outcome = try await RequestKind.outcome(of: request, by: session)
            #expect(outcome.statusCode == 307)
            #expect(outcome.bytes == endless)
        }
    }

    @Test func `a request that is cancelled during a redirect is not sent again`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 307 Elsewhere\r\nLocation: /there\r\n\r\n"), .stall)
        defer { server.stop() }
        let session = Session.isolated { $0.timeoutIntervalForRequest = 0 }
        let request = session.request(server.baseURL)
        let ended = ExactlyOnce<SessionError?>()
        let completion = ended.completion()
        request.response { completion($0.error) }
        try await server.requests.values(1)
        request.cancel()
        #expect(try await ended.values()[0]?.isExplicitlyCancelledError == true)
        #expect(server.requests.count == 1)
    }

    @Test func `a stored response replaces a 503 with an endless body`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond(headers: ["Cache-Control: max-age=0, stale-if-error=3600"], body: "stored"),
            .request, .send("HTTP/1.1 503 No\r\n\r\n"), .send(endless), .stall)
        defer { server.stop() }
        let session = Session.isolated {
            $0.urlCache = ResponseCache()
            $0.timeoutIntervalForRequest = 0
        }
        for _ in 0..<2 {
            let response = await session.request(server.baseURL).serializingString().response
            #expect(response.value == "stored")
        }
        #expect(server.requests.count == 2)
    }
}

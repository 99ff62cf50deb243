import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Bodies that nobody gets, and that do not end.
@Suite(.timeLimit(.minutes(1))) struct DroppedBodyTests {
    private let endless = [UInt8](repeating: 0x2E, count: 2 << 20)

    @Test func `a challenge is answered however long its body is`() async throws {
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

    @Test func `a stored response stands in for a failure however long its body is`() async throws {
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

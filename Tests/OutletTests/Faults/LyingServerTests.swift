import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Servers that send another length than they declare.
@Suite(.timeLimit(.minutes(patience))) struct LyingServerTests {
    private func outcome(
        _ kind: RequestKind, _ head: String, _ body: String, stays: Bool = false,
        patience: TimeInterval = 20
    ) async throws -> RequestKind.Outcome {
        let response = Step.send("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n\(body)")
        let steps = [.request, response] + (stays ? [Step.stall] : [])
        let server = try ScriptedServer.start { _ in steps }
        return try await kind.outcome(
            server.baseURL, by: .isolated { $0.timeoutIntervalForRequest = patience })
    }

    /// The outcome with a server that stalls; uses a longer timeout if the machine was too slow.
    private func silentOutcome(
        _ kind: RequestKind, _ head: String, _ body: String
    ) async throws -> RequestKind.Outcome {
        var last = try await outcome(kind, head, body, stays: true, patience: 0.1)
        for patience in [1.0, 5.0] where last.transfer?.stage != .receiving {
            last = try await outcome(kind, head, body, stays: true, patience: patience)
        }
        return last
    }

    @Test(arguments: [
        "Content-Length: 3\r\nContent-Length: 5", "Content-Length: 3, 5", "Content-Length: -3",
        "Content-Length: +3", "Content-Length: 0x3", "Content-Length: 3 3", "Content-Length: three",
        "Content-Length:", "Content-Length: 99999999999999999999",
    ])
    func `a length that is not one number is refused`(head: String) async throws {
        for kind in RequestKind.allCases {
            let outcome = try await outcome(kind, head, "abc")
            #expect(outcome.transfer?.code == .badServerResponse, "\(kind)")
            #expect(outcome.transfer?.reason.contains("Content-Length") == true, "\(kind)")
        }
    }

    @Test(arguments: ["Content-Length: 3\r\nContent-Length: 3", "Content-Length: 3, 3"])
    func `a repeated Content-Length with equal values is accepted`(head: String) async throws {
        for kind in RequestKind.allCases {
            let outcome = try await outcome(kind, head, "abc", stays: true)
            #expect(outcome.error == nil && outcome.text == "abc", "\(kind)")
        }
    }

    @Test(arguments: RequestKind.allCases)
    func `a body shorter than its declared length is an error`(kind: RequestKind) async throws {
        for length in ["4", "9223372036854775807"] {
            let closed = try await outcome(kind, "Content-Length: \(length)", "abc")
            #expect(closed.transfer?.code == .networkConnectionLost)
            #expect(
                closed.transfer?.reason
                    == "the server closed the connection after 3 of \(length) bytes")
            let silent = try await silentOutcome(kind, "Content-Length: \(length)", "abc")
            #expect(silent.transfer?.code == .timedOut)
            #expect(silent.transfer?.stage == .receiving)
        }
    }

    /// Bytes after a response must not be used as the next response.
    @Test(
        arguments: RequestKind.allCases,
        [
            "Content-Length: 3\r\n\r\nabc",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        ])
    func `bytes after a complete response are not used as the next response`(
        kind: RequestKind, response: String
    ) async throws {
        let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        let server = try ScriptedServer.start { connection in
            guard connection == 0 else { return [.request, .respond(body: "good"), .again] }
            return [
                .request, .send("HTTP/1.1 200 OK\r\n" + response + evil),
                .request, .respond(body: "good"),
            ]
        }
        let session = Session.isolated()
        let first = try await kind.outcome(server.baseURL, by: session)
        #expect(first.error == nil && first.text == "abc")
        let second = try await kind.outcome(server.baseURL, by: session)
        #expect(second.error == nil && second.text == "good")
    }

    /// Bytes on an idle connection must not be used as the next response.
    @Test(arguments: RequestKind.allCases, [false, true])
    func `a response on an idle connection is not used for the next request`(
        kind: RequestKind, isPost: Bool
    ) async throws {
        let (isAnswered, isThere) = (try Gate(), try Gate())
        let server = try ScriptedServer.start { connection in
            guard connection == 0 else { return [.request, .respond(body: "good"), .again] }
            return [
                .request, .respond(body: "abc"), .wait(isAnswered), .respond(body: "evil"),
                .open(isThere), .stall,
            ]
        }
        let session = Session.isolated()
        let first = try await kind.outcome(server.baseURL, by: session)
        #expect(first.error == nil && first.text == "abc")
        isAnswered.open()
        try await isThere.opened()
        // After this request the loop has checked all connections.
        let other = try ScriptedServer.start(.request, .respond(body: "x"))
        #expect(try await kind.outcome(other.baseURL, by: session).text == "x")
        for _ in 0..<2 {
            let next = try await kind.outcome(
                server.baseURL, by: session, body: isPost ? Data([1]) : nil)
            #expect(next.error == nil && next.text == "good")
        }
        #expect(server.requests.count == 3)
    }

    @Test(arguments: RequestKind.allCases)
    func `chunks with an invalid or too large size are refused`(
        kind: RequestKind
    ) async throws {
        for size in ["x", "-3", "ffffffffffffffffff", ""] {
            let outcome = try await outcome(
                kind, "Transfer-Encoding: chunked", "\(size)\r\nabc\r\n0\r\n\r\n")
            #expect(
                outcome.transfer?.code == .badServerResponse
                    || outcome.transfer?.code == .networkConnectionLost, "\(size)")
            #expect(outcome.bytes.isEmpty)
        }
    }

    @Test(arguments: RequestKind.allCases)
    func `chunked encoding beside a Content-Length is refused`(
        kind: RequestKind
    ) async throws {
        let outcome = try await outcome(
            kind, "Content-Length: 2\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n")
        #expect(outcome.transfer?.code == .badServerResponse)
        #expect(outcome.bytes.isEmpty)
    }

    @Test(arguments: RequestKind.allCases)
    func `a body after a 204 response is not read`(kind: RequestKind) async throws {
        let server = try ScriptedServer.start { connection in
            (connection == 0
                ? [.request, .send("HTTP/1.1 204 No Content\r\n\r\nabc")] : [])
                + [.request, .respond(body: "good")]
        }
        let session = Session.isolated()
        let first = try await kind.outcome(server.baseURL, by: session)
        #expect(first.error == nil && first.statusCode == 204 && first.bytes.isEmpty)
        #expect(try await kind.outcome(server.baseURL, by: session).text == "good")
    }
}

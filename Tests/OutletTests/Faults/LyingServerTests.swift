import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Servers that say one thing about a body's length and do another.
@Suite(.timeLimit(.minutes(patience))) struct LyingServerTests {
    private func outcome(
        _ kind: RequestKind, _ head: String, _ body: String, stays: Bool = false,
        patience: TimeInterval = 20
    ) async throws -> RequestKind.Outcome {
        let answer = Step.send("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n\(body)")
        let steps = [.request, answer] + (stays ? [Step.stall] : [])
        let server = try ScriptedServer.start { _ in steps }
        return try await kind.outcome(
            server.baseURL, by: .isolated { $0.timeoutIntervalForRequest = patience })
    }

    /// Of a server that then falls silent; waited for longer when the machine was slower than it.
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
    func `a length said twice is that length`(head: String) async throws {
        for kind in RequestKind.allCases {
            let outcome = try await outcome(kind, head, "abc", stays: true)
            #expect(outcome.error == nil && outcome.text == "abc", "\(kind)")
        }
    }

    @Test(arguments: RequestKind.allCases)
    func `more is announced than comes`(kind: RequestKind) async throws {
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

    /// Bytes behind a response must not be taken for the next one.
    @Test(
        arguments: RequestKind.allCases,
        [
            "Content-Length: 3\r\n\r\nabc",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        ])
    func `more comes than is announced, and it is nobody's answer`(
        kind: RequestKind, answer: String
    ) async throws {
        let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        let server = try ScriptedServer.start { connection in
            guard connection == 0 else { return [.request, .respond(body: "good"), .again] }
            return [
                .request, .send("HTTP/1.1 200 OK\r\n" + answer + evil),
                .request, .respond(body: "good"),
            ]
        }
        let session = Session.isolated()
        let first = try await kind.outcome(server.baseURL, by: session)
        #expect(first.error == nil && first.text == "abc")
        let second = try await kind.outcome(server.baseURL, by: session)
        #expect(second.error == nil && second.text == "good")
    }

    /// Bytes on an idle connection must not be taken for the next answer.
    @Test(arguments: RequestKind.allCases, [false, true])
    func `an answer that comes before its request is nobody's answer`(
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
        // With this the loop has looked at all connections since.
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
    func `chunks without a size, or with one too large, are refused`(
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
    func `chunks go before a length, and the connection is not trusted after that`(
        kind: RequestKind
    ) async throws {
        let outcome = try await outcome(
            kind, "Content-Length: 2\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n",
            stays: true)
        #expect(outcome.error == nil && outcome.text == "abc")
    }

    @Test(arguments: RequestKind.allCases)
    func `a body where none may be is not read`(kind: RequestKind) async throws {
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

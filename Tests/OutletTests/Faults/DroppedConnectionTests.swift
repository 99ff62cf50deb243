import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Connections that end at each byte of a response, by closing and by a reset.
@Suite(.timeLimit(.minutes(patience))) struct DroppedConnectionTests {
    /// Sends as many bytes of a response as the last part of the request's path says.
    private func server(_ framing: Framing, isReset: Bool) throws -> ScriptedServer {
        let bytes = framing.bytes
        let answer = Step.answer { request in
            Array(bytes.prefix(Int(request.lastPart) ?? bytes.count))
        }
        let steps = isReset ? [answer, .reset] : [answer]
        return try ScriptedServer.start { _ in steps }
    }

    private func outcomes(
        _ kind: RequestKind, _ framing: Framing, isReset: Bool, cuts: Range<Int>
    ) async throws -> [(cut: Int, outcome: RequestKind.Outcome)] {
        let server = try server(framing, isReset: isReset)
        let session = Session.isolated()
        let ended = ExactlyOnce<RequestKind.Outcome>()
        for cut in cuts {
            let request = kind.request("\(server.baseURL)/\(cut)", by: session) {
                $0.headers.update(name: "Accept-Encoding", value: "gzip, deflate, br, zstd")
            }
            RequestKind.handle(request, ended.completion())
        }
        let outcomes = try await ended.values()
        #expect(ended.fault == nil)
        // No request was sent twice: no connection was reused.
        #expect(server.requests.count == cuts.count)
        return Array(zip(cuts, outcomes))
    }

    /// Expects a lost connection, and that the received bytes are the beginning of the body.
    private func expectLost(_ outcome: RequestKind.Outcome, _ framing: Framing, _ what: Comment) {
        #expect(outcome.transfer?.code == .networkConnectionLost, what)
        #expect(outcome.transfer?.reason.contains("connection") == true, what)
        #expect(outcome.transfer?.host?.hasPrefix("127.0.0.1:") == true, what)
        #expect(framing.body.hasPrefix(outcome.text), what)
    }

    @Test(arguments: RequestKind.allCases, Framing.plain + Framing.coded)
    func `a response without its last byte is incomplete`(
        kind: RequestKind, framing: Framing
    ) async throws {
        let whole = framing.bytes.count - framing.slack
        let all = try await outcomes(kind, framing, isReset: false, cuts: 0..<whole + 1)
        for (cut, outcome) in all {
            if cut == whole {
                #expect(outcome.error == nil)
                #expect(outcome.text == framing.body)
            } else if framing.endsWithConnection, cut >= framing.bodyStart,
                !framing.isCoded || cut == framing.bodyStart
            {
                // The end cannot be detected; a missing body counts as an empty one.
                #expect(outcome.error == nil)
                #expect(framing.body.hasPrefix(outcome.text))
            } else {
                expectLost(outcome, framing, "closed at \(cut)")
            }
        }
    }

    @Test(arguments: RequestKind.allCases, Framing.plain + Framing.coded)
    func `a reset at any byte is a lost connection`(
        kind: RequestKind, framing: Framing
    ) async throws {
        let whole = framing.bytes.count - framing.slack
        let all = try await outcomes(kind, framing, isReset: true, cuts: 0..<whole)
        for (cut, outcome) in all { expectLost(outcome, framing, "reset at \(cut)") }
    }
}

import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Connections to nginx that break behind a relay, after so many bytes of the server's.
@Suite(.timeLimit(.minutes(1))) struct DroppedHTTP2Tests {
    private static let text = String(repeating: "text ", count: 2000)

    private func relay(to port: UInt16, cut: Int, isReset: Bool) throws -> ScriptedServer {
        let relayed = Step.relayed(.loopback(port: port), limit: cut)
        let steps = isReset ? [relayed, .reset] : [relayed]
        return try ScriptedServer.start { _ in steps }
    }

    /// How requests end whose connections break after so many bytes each.
    private func outcomes(
        _ listener: Nginx.Listener, _ kind: RequestKind, path: String = "compressed/text.txt",
        cuts: [Int], isReset: Bool, _ change: (inout SessionConfiguration) -> Void
    ) async throws -> [(cut: Int, outcome: RequestKind.Outcome)] {
        let nginx = try await Nginx.shared()
        let session = Session.isolated {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            change(&$0)
        }
        let scheme = listener == .tls ? "https" : "http"
        let servers = try cuts.map {
            try relay(to: nginx.port(listener), cut: $0, isReset: isReset)
        }
        let ended = ExactlyOnce<RequestKind.Outcome>()
        for server in servers {
            let request = kind.request("\(scheme)://localhost:\(server.port)/\(path)", by: session)
            {
                $0.headers.update(name: "Accept-Encoding", value: "identity")
            }
            RequestKind.handle(request, ended.completion())
        }
        let outcomes = try await ended.values()
        #expect(ended.fault == nil)
        return Array(zip(cuts, outcomes))
    }

    /// Whole from some byte on, and lost before, under a name that says so.
    private func check(_ all: [(cut: Int, outcome: RequestKind.Outcome)]) {
        for (cut, outcome) in all {
            if outcome.error == nil {
                #expect(outcome.text == Self.text, "cut at \(cut): \(outcome.bytes.count) bytes")
            } else {
                let code = outcome.transfer?.code
                #expect(
                    code == .networkConnectionLost || code == .secureConnectionFailed
                        || cut == 0 && code == .cannotConnectToHost,
                    "cut at \(cut): \(outcome.transfer.map { "\($0)" } ?? "")")
                #expect(outcome.transfer?.host?.hasPrefix("localhost:") == true)
                #expect(Self.text.hasPrefix(outcome.text))
            }
        }
        let firstWhole = all.firstIndex { $0.outcome.error == nil } ?? all.count
        #expect(firstWhole > 0 && firstWhole < all.count)
        #expect(all[firstWhole...].allSatisfy { $0.outcome.error == nil })
    }

    private static let cuts = Array(0..<260) + stride(from: 260, to: 11_000, by: 251)

    @Test(arguments: RequestKind.allCases, [false, true])
    func `an HTTP/2 answer is never whole without its last byte`(
        kind: RequestKind, isReset: Bool
    ) async throws {
        // A method that nginx does not take for files is answered with an error of its own.
        guard kind != .upload else { return }
        check(
            try await outcomes(.plainHTTP2, kind, cuts: Self.cuts, isReset: isReset) {
                $0.httpVersion = .http2PriorKnowledge
            })
    }

    private static let secureCuts = Array(stride(from: 0, to: 14_000, by: 113))

    @Test(arguments: [HTTPVersionPolicy.automatic, .http1], [false, true])
    func `an answer over TLS is never whole without its last byte`(
        version: HTTPVersionPolicy, isReset: Bool
    ) async throws {
        check(
            try await outcomes(.tls, .data, cuts: Self.secureCuts, isReset: isReset) {
                $0.httpVersion = version
            })
    }

    /// Where only the end tells the end, TLS says whether it is the server's (RFC 8446 §6.1).
    @Test func `an end without close_notify is a lost connection`() async throws {
        check(
            try await outcomes(
                .tls, .data, path: "unframed.txt", cuts: Self.secureCuts, isReset: false
            ) { $0.httpVersion = .http1 })
    }
}

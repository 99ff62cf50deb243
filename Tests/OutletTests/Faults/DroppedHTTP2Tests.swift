import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Connections to nginx that break behind a relay, after so many bytes of the server's.
@Suite(.timeLimit(.minutes(patience))) struct DroppedHTTP2Tests {
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
        var outcomes: [RequestKind.Outcome] = []
        // So many at a time, because each server has descriptors of its own.
        for start in stride(from: 0, to: cuts.count, by: 60) {
            let ended = ExactlyOnce<RequestKind.Outcome>()
            let servers = try cuts[start..<min(start + 60, cuts.count)].map {
                try relay(to: nginx.port(listener), cut: $0, isReset: isReset)
            }
            for server in servers {
                let url = "\(scheme)://localhost:\(server.port)/\(path)"
                let request = kind.request(url, by: session) {
                    $0.headers.update(name: "Accept-Encoding", value: "identity")
                }
                RequestKind.handle(request, ended.completion())
            }
            outcomes += try await ended.values()
            #expect(ended.fault == nil)
        }
        return Array(zip(cuts, outcomes))
    }

    /// Whole from some byte on, and lost before, under a name that says so.
    ///
    /// A reset takes along what came and was not read yet: only the last cut, which lies behind all
    /// that the server sends, is sure to leave an answer whole.
    private func check(_ all: [(cut: Int, outcome: RequestKind.Outcome)], isReset: Bool = false) {
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
        let surelyWhole = isReset ? all.suffix(1) : all[firstWhole...]
        #expect(surelyWhole.allSatisfy { $0.outcome.error == nil })
    }

    private static let cuts = Array(0..<260) + stride(from: 260, to: 11_000, by: 251)

    /// Not uploads: nginx takes no `POST` for files.
    @Test(arguments: [RequestKind.data, .download, .stream], [false, true])
    func `an HTTP/2 answer is never whole without its last byte`(
        kind: RequestKind, isReset: Bool
    ) async throws {
        // Every byte once; the kinds differ only in where the body goes.
        let cuts = kind == .data ? Self.cuts : Self.cuts.filter { $0 % 5 == 0 }
        check(
            try await outcomes(.plainHTTP2, kind, cuts: cuts, isReset: isReset) {
                $0.httpVersion = .http2PriorKnowledge
            }, isReset: isReset)
    }

    private static let secureCuts = Array(stride(from: 0, to: 14_000, by: 113))

    @Test(arguments: [HTTPVersionPolicy.automatic, .http1], [false, true])
    func `an answer over TLS is never whole without its last byte`(
        version: HTTPVersionPolicy, isReset: Bool
    ) async throws {
        check(
            try await outcomes(.tls, .data, cuts: Self.secureCuts, isReset: isReset) {
                $0.httpVersion = version
            }, isReset: isReset)
    }

    /// Where only the end tells the end, TLS says whether it is the server's (RFC 8446 §6.1).
    @Test func `an end without close_notify is a lost connection`() async throws {
        check(
            try await outcomes(
                .tls, .data, path: "unframed.txt", cuts: Self.secureCuts, isReset: false
            ) { $0.httpVersion = .http1 })
    }
}

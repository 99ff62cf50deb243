import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Connections to nginx through a relay that ends them after a number of bytes.
@Suite(.timeLimit(.minutes(patience))) struct DroppedHTTP2Tests {
    private static let text = String(repeating: "text ", count: 2000)

    private func relay(to port: UInt16, cut: Int, isReset: Bool) throws -> ScriptedServer {
        let relayed = Step.relayed(.loopback(port: port), limit: cut)
        let steps = isReset ? [relayed, .reset] : [relayed]
        return try ScriptedServer.start { _ in steps }
    }

    /// The outcomes of requests whose connections end after the given numbers of bytes.
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
        // 60 at a time, because each server has its own descriptors.
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

    /// Expects complete responses from some byte on, and a lost connection before it.
    ///
    /// A reset discards bytes that were not read yet: only the last cut, which is after all bytes
    /// that the server sends, certainly results in a complete response.
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
    func `an HTTP/2 response without its last byte is incomplete`(
        kind: RequestKind, isReset: Bool
    ) async throws {
        // Each byte once; the kinds differ only in the destination of the body.
        let cuts = kind == .data ? Self.cuts : Self.cuts.filter { $0 % 5 == 0 }
        check(
            try await outcomes(.plainHTTP2, kind, cuts: cuts, isReset: isReset) {
                $0.httpVersion = .http2PriorKnowledge
            }, isReset: isReset)
    }

    private static let secureCuts = Array(stride(from: 0, to: 14_000, by: 113))

    @Test(arguments: [HTTPVersionPolicy.automatic, .http1], [false, true])
    func `a response over TLS without its last byte is incomplete`(
        version: HTTPVersionPolicy, isReset: Bool
    ) async throws {
        check(
            try await outcomes(.tls, .data, cuts: Self.secureCuts, isReset: isReset) {
                $0.httpVersion = version
            }, isReset: isReset)
    }

    /// Without a length, TLS tells whether the server has ended the connection (RFC 8446 §6.1).
    @Test func `a TLS connection that ends without close_notify is a lost connection`() async throws
    {
        check(
            try await outcomes(
                .tls, .data, path: "unframed.txt", cuts: Self.secureCuts, isReset: false
            ) { $0.httpVersion = .http1 })
    }
}

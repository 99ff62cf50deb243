import FoundationEssentials
import Glibc
import Outlet
import OutletTestSupport
import Testing

/// Revocation checks of certificates, with real servers.
@Suite struct RevocationTests {
    private func session(
        _ evaluator: RevocationTrustEvaluator,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> Session {
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        change(&configuration)
        return Session(
            configuration: configuration,
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]))
    }

    private func refusal(
        _ session: Session, _ url: String
    ) async -> SessionError.ServerTrustFailureReason? {
        let response = await session.request(url).serializingData().response
        guard case .serverTrustEvaluationFailed(let reason) = response.error else { return nil }
        return reason
    }

    private func status(_ session: Session, _ url: String) async -> Int? {
        await session.request(url).serializingData().response.response?.statusCode
    }

    @Test func `a certificate on a revocation list is refused, and others are accepted`()
        async throws
    {
        let server = try await TrustServer.shared()
        let lists = [try RevocationList(path: server.revocation.listPath)]
        let evaluator = RevocationTrustEvaluator(options: .crl, revocationLists: lists)
        #expect(await status(try await session(evaluator), server.url(.stapled)) == 200)
        let reason = await refusal(try await session(evaluator), server.url(.revoked))
        guard case .revocationCheckFailed(let output, .crl) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(output.fault.reason.contains("revoked"))
    }

    @Test func `a replaced revocation list is used at once`() async throws {
        let server = try await TrustServer.shared()
        let directory = try TemporaryDirectory()
        let path = directory.path("list.pem")
        let former = try Data(contentsOf: URL(filePath: server.revocation.formerListPath))
        try former.write(to: URL(filePath: path))
        let evaluator = RevocationTrustEvaluator(
            options: .crl, revocationLists: [try RevocationList(path: path)])
        // Each session has its own connections, so the server is evaluated again.
        #expect(await status(try await session(evaluator), server.url(.revoked)) == 200)
        try directory.write("not all of it yet", to: "next.pem")
        #expect(rename(directory.path("next.pem"), path) == 0)
        let broken = await refusal(try await session(evaluator), server.url(.revoked))
        guard case .revocationCheckFailed(let fault, _) = broken else {
            Issue.record("\(String(describing: broken))")
            return
        }
        #expect(fault.fault.reason == "one of the revocation lists is neither DER nor PEM")
        let next = try Data(contentsOf: URL(filePath: server.revocation.listPath))
        try next.write(to: URL(filePath: directory.path("next.pem")))
        #expect(rename(directory.path("next.pem"), path) == 0)
        let reason = await refusal(try await session(evaluator), server.url(.revoked))
        guard case .revocationCheckFailed(let output, _) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(output.fault.reason.contains("revoked"))
        // A list remains in effect after its file was removed.
        #expect(unlink(path) == 0)
        #expect(await refusal(try await session(evaluator), server.url(.revoked)) != nil)
    }

    @Test func `a stapled response decides whether the server is trusted`() async throws {
        let server = try await TrustServer.shared()
        let strict = RevocationTrustEvaluator(options: [.ocsp, .requirePositiveResponse])
        #expect(await status(try await session(strict), server.url(.stapled)) == 200)
        for listener in [TrustServer.Listener.revokedStapled, .wronglyStapled, .revoked] {
            let reason = await refusal(try await session(strict), server.url(listener))
            guard case .revocationCheckFailed(let output, _) = reason else {
                Issue.record("\(listener): \(String(describing: reason))")
                continue
            }
            let expected =
                switch listener {
                case .revokedStapled: "the certificate was revoked"
                case .wronglyStapled: "it is about another certificate"
                default: "nothing says that the server's certificate was not taken back"
                }
            #expect(output.fault.reason.contains(expected))
        }
    }

    private func response(
        _ url: String, _ evaluator: (any ServerTrustEvaluating)?
    ) async throws -> DataResponse<Data, SessionError> {
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        configuration.httpVersion = .http1
        let manager = evaluator.map {
            ServerTrustManager(evaluators: ["localhost": $0, "127.0.0.1": $0])
        }
        let session = Session(configuration: configuration, serverTrustManager: manager)
        return await session.request(url).serializingData().response
    }

    @Test(
        arguments: [
            (TrustServer.Listener.staplingStapled, nil),
            (.staplingUnstapled, "the server has stapled none"),
            (.staplingUnstapled12, "the server has stapled none"),
            (.staplingWronglyStapled, "it is about another certificate"),
        ] as [(TrustServer.Listener, String?)])
    func `a certificate that requires a stapled response is accepted with a good one only`(
        listener: TrustServer.Listener, reason: String?
    ) async throws {
        let server = try await TrustServer.shared()
        let evaluators: [(any ServerTrustEvaluating)?] = [nil, DefaultTrustEvaluator()]
        for evaluator in evaluators {
            let response = try await response(server.closingURL(listener), evaluator)
            guard let reason else {
                #expect(response.response?.statusCode == 200, "\(response)")
                continue
            }
            let text = response.error.map { "\($0)" } ?? ""
            #expect(text.contains(reason), "\(text)")
            #expect(text.contains("RFC 7633"), "\(text)")
        }
        let disabled = try await self.response(
            server.closingURL(listener), DisabledTrustEvaluator())
        #expect(disabled.response?.statusCode == 200)
    }

    @Test
    func
        `the stapled response that a certificate requires is not sent again for a resumed session`()
        async throws
    {
        let server = try await TrustServer.shared()
        for evaluator: (any ServerTrustEvaluating)? in [nil, DefaultTrustEvaluator()] {
            var configuration = SessionConfiguration()
            configuration.certificateAuthorities = .file(
                path: try await TestCA.shared().certificatePath)
            configuration.httpVersion = .http1
            let session = Session(
                configuration: configuration,
                serverTrustManager: evaluator.map {
                    ServerTrustManager(evaluators: ["localhost": $0])
                })
            for isResumed in [false, true] {
                let text = try await session.request(server.closingURL(.staplingStapled))
                    .serializingString().value
                #expect(text.contains(#""resumed":"r""#) == isResumed)
            }
        }
    }

    @Test(arguments: [TrustServer.Listener.nameless, .namelessAddress])
    func `the common name of a certificate is not the name of a server`(
        listener: TrustServer.Listener
    ) async throws {
        let server = try await TrustServer.shared()
        let host = listener == .nameless ? "localhost" : "127.0.0.1"
        let url = server.url(listener).replacing("localhost", with: host)
        let evaluators: [(any ServerTrustEvaluating)?] = [nil, DefaultTrustEvaluator()]
        for evaluator in evaluators {
            let response = try await response(url, evaluator)
            let text = response.error.map { "\($0)" } ?? ""
            #expect(text.contains("RFC 9110"), "\(text)")
        }
        let disabled = try await response(url, DisabledTrustEvaluator())
        #expect(disabled.response?.statusCode == 200)
    }

    @Test func `a resumed TLS session uses the stapled response of the first handshake`()
        async throws
    {
        let server = try await TrustServer.shared()
        let session = try await session(
            RevocationTrustEvaluator(options: [.ocsp, .requirePositiveResponse])
        ) { $0.httpVersion = .http1 }
        for attempt in 0..<2 {
            let text = try await session.request(server.closingURL(.stapled)).serializingString()
                .value
            #expect(text.contains(#""resumed":"\#(attempt == 0 ? "." : "r")""#))
        }
    }

    @Test func `a server without revocation information is accepted by default`() async throws {
        let server = try await TrustServer.shared()
        #expect(await status(try await session(.revocationChecking), server.url(.chain)) == 200)
    }

    @Test(arguments: [JudgedServer.Listener.unstapled12, .unstapled])
    func `a stapled response of another server is not used without an own one`(
        listener: JudgedServer.Listener
    ) async throws {
        let server = try await JudgedServer.shared()
        let session = try await session(
            RevocationTrustEvaluator(options: [.ocsp, .requirePositiveResponse])
        ) { $0.httpVersion = .http1 }
        // Both servers have the same certificate.
        #expect(await status(session, server.url(.stapled12)) == 200)
        #expect(await refusal(session, server.url(listener)) != nil)
    }

    @Test func `stapled responses are used in TLS 1.2, also in resumed sessions`()
        async throws
    {
        let server = try await JudgedServer.shared()
        let session = try await session(
            RevocationTrustEvaluator(options: [.ocsp, .requirePositiveResponse])
        ) { $0.httpVersion = .http1 }
        for attempt in 0..<3 {
            let text = try await session.request(server.closingURL(.stapled12)).serializingString()
                .value
            #expect(text.contains("TLSv1.2"))
            #expect(text.contains(#""resumed":"\#(attempt == 0 ? "." : "r")""#))
        }
        let reason = await refusal(session, server.url(.revokedStapled12))
        guard case .revocationCheckFailed(let output, _) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(output.fault.reason.contains("the certificate was revoked"))
    }

    @Test(arguments: [JudgedServer.Listener.stapled12, .unstapled])
    func `a resumed TLS session is checked with the current revocation list`(
        listener: JudgedServer.Listener
    ) async throws {
        let judged = try await JudgedServer.shared()
        let revocation = try await TrustServer.shared().revocation
        let directory = try TemporaryDirectory()
        let path = directory.path("list.pem")
        let former = try Data(contentsOf: URL(filePath: revocation.formerListPath))
        try former.write(to: URL(filePath: path))
        let session = try await session(
            RevocationTrustEvaluator(
                options: .crl, revocationLists: [try RevocationList(path: path)])
        ) { $0.httpVersion = .http1 }
        for resumed in [".", "r"] {
            let text = try await session.request(judged.closingURL(listener))
                .serializingString().value
            #expect(text.contains(#""resumed":"\#(resumed)""#))
        }
        // With an unreadable list no server is trusted.
        try directory.write("no list", to: "next.pem")
        #expect(rename(directory.path("next.pem"), path) == 0)
        let response = await session.request(judged.closingURL(listener))
            .serializingString().response
        #expect(response.error?.isServerTrustEvaluationError == true)
        #expect(response.metrics?.requestHeaderBytes == 0)
    }

    @Test
    func `a clean revocation list overrides a stapled response only with preferCRL`()
        async throws
    {
        let server = try await TrustServer.shared()
        let lists = [try RevocationList(path: server.revocation.formerListPath)]
        let both = RevocationTrustEvaluator(options: .any, revocationLists: lists)
        let reason = await refusal(try await session(both), server.url(.revokedStapled))
        guard case .revocationCheckFailed(let output, _) = reason else {
            Issue.record("\(String(describing: reason))")
            return
        }
        #expect(output.fault.reason.contains("the stapled OCSP response"))
        let preferring = RevocationTrustEvaluator(
            options: [.any, .preferCRL], revocationLists: lists)
        #expect(await status(try await session(preferring), server.url(.revokedStapled)) == 200)
    }
}

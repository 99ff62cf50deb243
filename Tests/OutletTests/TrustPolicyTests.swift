import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Sessions with several trust policies on one transport.
@Suite struct TrustPolicyTests {
    private func transport(
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> CurlTransport {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        change(&configuration)
        return CurlTransport(configuration: configuration)
    }

    private func session(
        _ transport: CurlTransport, _ evaluator: (any ServerTrustEvaluating)?
    ) -> Session {
        let session = Session(
            transport: transport,
            serverTrustManager: evaluator.map { ServerTrustManager(evaluators: ["localhost": $0]) })
        kept.record(session)
        return session
    }

    /// Retained sessions: releasing a session ends the transport.
    private let kept = Recorder<Session>()

    private static var otherPin: PublicKey {
        PublicKey(der: Data(), sha256: Data(repeating: 7, count: 32))
    }

    private func get(
        _ session: Session, _ url: String
    ) async -> DataResponse<String, SessionError> {
        await session.request(url).serializingString().response
    }

    @Test(arguments: [HTTPVersionPolicy.automatic, .http1])
    func `an idle connection is reused only with an equal trust policy`(version: HTTPVersionPolicy)
        async throws
    {
        let nginx = try await Nginx.shared()
        let transport = try await transport { $0.httpVersion = version }
        let url = "\(nginx.baseURL(.tls))/small.txt"
        let lax = session(transport, DisabledTrustEvaluator())
        #expect(await get(lax, url).value == "small\n")
        let pinned = session(transport, .publicKeys(keys: [Self.otherPin]))
        for _ in 0..<2 {
            let response = await get(pinned, url)
            #expect(response.error?.isServerTrustEvaluationError == true)
            #expect(response.metrics?.requestHeaderBytes == 0)
        }
        let equal = await get(session(transport, DisabledTrustEvaluator()), url)
        #expect(equal.metrics?.isReusedConnection == true)
        let usual = await get(session(transport, nil), url)
        #expect(usual.value == "small\n")
        #expect(usual.metrics?.isReusedConnection == false)
    }

    @Test func `a session without a manager does not reuse a connection of an evaluator`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let transport = try await transport()
        let url = "\(nginx.baseURL(.selfSigned))/small.txt"
        #expect(await get(session(transport, DisabledTrustEvaluator()), url).value == "small\n")
        let error = await get(session(transport, nil), url).error?.transferError
        #expect(error?.code == .serverCertificateUntrusted)
    }

    @Test(arguments: [JudgedServer.Listener.unstapled, .unstapled12])
    func `a TLS session is resumed only with an equal trust policy`(
        listener: JudgedServer.Listener
    ) async throws {
        let server = try await JudgedServer.shared()
        let transport = try await transport { $0.httpVersion = .http1 }
        let url = server.closingURL(listener)
        func isResumed(_ evaluator: (any ServerTrustEvaluating)?) async -> Bool? {
            await get(session(transport, evaluator), url).value?
                .contains(#""resumed":"r""#)
        }
        #expect(await isResumed(DisabledTrustEvaluator()) == false)
        #expect(await isResumed(DisabledTrustEvaluator()) == true)
        let pinned = session(transport, .publicKeys(keys: [Self.otherPin]))
        #expect(await get(pinned, url).error?.isServerTrustEvaluationError == true)
        #expect(await isResumed(DefaultTrustEvaluator()) == false)
        #expect(await isResumed(nil) == false)
        #expect(await isResumed(DefaultTrustEvaluator()) == true)
    }

    @Test func `waiting HTTP/2 streams do not use a connection of another policy`() async throws {
        let nginx = try await Nginx.shared()
        let transport = try await transport()
        let url = "\(nginx.baseURL(.tls))/small.txt"
        // The origin is known to use HTTP/2, so requests wait for streams.
        let lax = session(transport, DisabledTrustEvaluator())
        #expect(await get(lax, url).response?.httpVersion == "HTTP/2")
        let pinned = session(transport, .publicKeys(keys: [Self.otherPin]))
        await withTaskGroup(of: Bool.self) { group in
            for index in 0..<40 {
                group.addTask {
                    let response = await get(index % 2 == 0 ? lax : pinned, url)
                    return index % 2 == 0
                        ? response.value == "small\n"
                        : response.error?.isServerTrustEvaluationError == true
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test(arguments: [HandshakePeer.Listener.tls12, .tls13])
    func `no client certificate is sent to a refused server`(
        listener: HandshakePeer.Listener
    ) async throws {
        let server = try await HandshakePeer.start()
        let client = try await TestCA.shared().client()
        let transport = try await transport {
            $0.clientCertificate = ClientCertificate(
                certificatePath: client.certificatePath, keyPath: client.keyPath)
        }
        let url = "\(server.baseURL(listener))/x"
        let pinned = session(transport, .publicKeys(keys: [Self.otherPin]))
        #expect(await get(pinned, url).error?.isServerTrustEvaluationError == true)
        #expect(try await server.seen(1) == ["failed"])
        #expect(await get(session(transport, DefaultTrustEvaluator()), url).value == "served")
        #expect(
            try await server.seen(3) == ["failed", "client outlet-client", "GET /x HTTP/1.1"])
        await server.stop()
    }

    @Test func `an evaluator does not change TLS version and cipher`() async throws {
        let server = try await JudgedServer.shared()
        let transport = try await transport { $0.httpVersion = .http1 }
        for listener in [JudgedServer.Listener.stapled12, .unstapled] {
            let usual = await get(session(transport, nil), server.url(listener))
            let judged = await get(
                session(transport, DefaultTrustEvaluator()), server.url(listener))
            #expect(judged.metrics?.tls == usual.metrics?.tls)
            #expect(judged.metrics?.tls.isEmpty == false)
        }
    }
}

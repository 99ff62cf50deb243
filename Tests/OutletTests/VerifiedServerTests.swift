import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Cache, cookies and HSTS depending on the verification of the server.
@Suite struct VerifiedServerTests {
    /// Sessions that share cache, cookies and HSTS.
    private struct Stores {
        let cache = ResponseCache()
        let cookies = CookieStorage()
        let hsts = HSTSStorage.memory

        func session(
            verifies: Bool, _ manager: ServerTrustManager? = nil
        ) async throws -> Session {
            var configuration = SessionConfiguration()
            configuration.urlCache = cache
            configuration.httpCookieStorage = cookies
            configuration.hsts = hsts
            configuration.verifiesCertificates = verifies
            configuration.certificateAuthorities = .file(
                path: try await TestCA.shared().certificatePath)
            return Session(configuration: configuration, serverTrustManager: manager)
        }
    }

    private func text(_ session: Session, _ url: String) async -> String? {
        await session.request(url).serializingString().response.value
    }

    @Test func `responses, cookies and HSTS policies of an unverified server are not stored`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let stores = Stores()
        let lax = try await stores.session(verifies: false)
        for listener in [Nginx.Listener.tls, .selfSigned] {
            let url = "\(nginx.baseURL(listener))/kept"
            let first = try #require(await text(lax, url))
            #expect(await text(lax, url) != first)
        }
        #expect(stores.cookies.cookies.isEmpty)
        #expect(stores.hsts.policies.isEmpty)
        let strict = try await stores.session(verifies: true)
        let url = "\(nginx.baseURL(.tls))/kept"
        let kept = try #require(await text(strict, url))
        #expect(await text(strict, url) == kept)
        #expect(stores.cookies.cookies.map(\.name) == ["kept"])
        #expect(!stores.hsts.policies.isEmpty)
    }

    @Test(arguments: [false, true])
    func `the HSTS policy of a challenge from an unverified server is not stored`(
        coalesces: Bool
    ) async throws {
        let nginx = try await Nginx.shared()
        let server = try ScriptedServer.start(
            .answer { request in
                let head =
                    request.head.lowercased().contains("\r\nauthorization: ")
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin"
                    : "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\n"
                        + "Strict-Transport-Security: max-age=99\r\nContent-Length: 0\r\n\r\n"
                return Array(head.utf8)
            }, .again)
        defer { server.stop() }
        for verifies in [false, true] {
            let evaluator: any ServerTrustEvaluating =
                verifies ? DefaultTrustEvaluator() : DisabledTrustEvaluator()
            let hsts = HSTSStorage.memory
            var configuration = SessionConfiguration()
            configuration.hsts = hsts
            configuration.coalescesRequests = coalesces
            configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            let session = Session(
                configuration: configuration,
                serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]))
            let response = await session.request("\(nginx.baseURL(.tls))/socket/\(server.port)/")
                .authenticate(username: "ada", password: "secret").serializingString().response
            #expect(response.value == "in")
            #expect(hsts.policies.isEmpty == !verifies)
        }
    }

    @Test func `responses and cookies over plain HTTP are stored`() async throws {
        let nginx = try await Nginx.shared()
        let stores = Stores()
        let session = try await stores.session(verifies: false)
        let url = "\(nginx.baseURL(.plain))/kept"
        let kept = try #require(await text(session, url))
        #expect(await text(session, url) == kept)
        #expect(stores.cookies.cookies.map(\.name) == ["kept"])
        #expect(stores.hsts.policies.isEmpty)
    }

    @Test func `responses of a server with a disabled evaluator are not stored`() async throws {
        let nginx = try await Nginx.shared()
        let stores = Stores()
        let url = "\(nginx.baseURL(.tls))/kept"
        for evaluator in [
            DisabledTrustEvaluator(), .composite(evaluators: [DisabledTrustEvaluator()]),
        ]
            as [any ServerTrustEvaluating]
        {
            let session = try await stores.session(
                verifies: true, ServerTrustManager(evaluators: ["localhost": evaluator]))
            let first = try #require(await text(session, url))
            #expect(await text(session, url) != first)
        }
        #expect(stores.cookies.cookies.isEmpty)
        #expect(stores.hsts.policies.isEmpty)
    }

    /// Does not implement `verifies`.
    private struct AcceptingEvaluator: ServerTrustEvaluating, Equatable {
        func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
    }

    @Test(arguments: [Nginx.Listener.tls, .wrongHost, .selfSigned])
    func `with a custom evaluator the authorities verify the server`(
        listener: Nginx.Listener
    ) async throws {
        let nginx = try await Nginx.shared()
        let stores = Stores()
        let session = try await stores.session(
            verifies: true, ServerTrustManager(evaluators: ["localhost": AcceptingEvaluator()]))
        _ = await text(session, "\(nginx.baseURL(listener))/kept")
        #expect(stores.cookies.cookies.isEmpty == (listener != .tls))
        #expect(stores.hsts.policies.isEmpty == (listener != .tls))
    }

    @Test func `a pinned server is verified regardless of its authority`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let pins = try Certificate.load(
            try await nginx.authority.server(.selfSigned).certificatePath)
        let evaluators: [any ServerTrustEvaluating] = [
            .pinnedCertificates(certificates: pins, acceptSelfSignedCertificates: true),
            .publicKeys(
                keys: pins.publicKeys, performDefaultValidation: false, validateHost: false),
        ]
        for evaluator in evaluators {
            let stores = Stores()
            let session = try await stores.session(
                verifies: true, ServerTrustManager(evaluators: ["localhost": evaluator]))
            let url = "\(nginx.baseURL(.selfSigned))/kept"
            let kept = try #require(await text(session, url))
            #expect(await text(session, url) == kept)
            #expect(stores.cookies.cookies.count == 1)
        }
    }

    @Test func `a stored response is not returned to a session with other pins`() async throws {
        let nginx = try await Nginx.shared()
        let stores = Stores()
        let url = "\(nginx.baseURL(.tls))/kept"
        let usual = try await stores.session(verifies: true)
        let kept = try #require(await text(usual, url))
        let pin = PublicKey(der: Data(), sha256: Data(repeating: 7, count: 32))
        let pinned = try await stores.session(
            verifies: true,
            ServerTrustManager(evaluators: ["localhost": PublicKeysTrustEvaluator(keys: [pin])]))
        let refused = await pinned.request(url).serializingString().response
        #expect(refused.error?.isServerTrustEvaluationError == true)
        #expect(await text(usual, url) == kept)
    }

    @Test func `a stored response is not returned to a session with other authorities`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let stores = Stores()
        let url = "\(nginx.baseURL(.tls))/kept"
        let usual = try await stores.session(verifies: true)
        let kept = try #require(await text(usual, url))
        let otherAuthority = try await TestCA()
        for authorities: CertificateAuthorities in [
            .file(path: otherAuthority.certificatePath), .system,
        ] {
            var configuration = SessionConfiguration()
            configuration.urlCache = stores.cache
            configuration.certificateAuthorities = authorities
            let session = Session(configuration: configuration)
            let response = await session.request(url).serializingString().response
            #expect(response.value == nil && response.error != nil)
            withExtendedLifetime(session) {}
        }
        #expect(await text(usual, url) == kept)
        withExtendedLifetime((usual, otherAuthority)) {}
    }
}

import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// What is kept of the answers of servers, by whether these were verified.
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

    @Test func `of a server that is not verified nothing is kept`() async throws {
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

    @Test func `without TLS cookies and responses are kept as ever`() async throws {
        let nginx = try await Nginx.shared()
        let stores = Stores()
        let session = try await stores.session(verifies: false)
        let url = "\(nginx.baseURL(.plain))/kept"
        let kept = try #require(await text(session, url))
        #expect(await text(session, url) == kept)
        #expect(stores.cookies.cookies.map(\.name) == ["kept"])
        #expect(stores.hsts.policies.isEmpty)
    }

    @Test func `of servers that an evaluator trusts unseen nothing is kept`() async throws {
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

    /// Says nothing about what it verifies.
    private struct Friendly: ServerTrustEvaluating, Equatable {
        func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
    }

    @Test(arguments: [Nginx.Listener.tls, .wrongHost, .selfSigned])
    func `an evaluator of one's own verifies what the authorities do`(
        listener: Nginx.Listener
    ) async throws {
        let nginx = try await Nginx.shared()
        let stores = Stores()
        let session = try await stores.session(
            verifies: true, ServerTrustManager(evaluators: ["localhost": Friendly()]))
        _ = await text(session, "\(nginx.baseURL(listener))/kept")
        #expect(stores.cookies.cookies.isEmpty == (listener != .tls))
        #expect(stores.hsts.policies.isEmpty == (listener != .tls))
    }

    @Test func `a pinned server is verified, whatever authority has signed its certificate`()
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

    @Test func `a response answers those only who verify its server alike`() async throws {
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

    @Test func `a response answers those only who trust the same authorities`() async throws {
        let nginx = try await Nginx.shared()
        let stores = Stores()
        let url = "\(nginx.baseURL(.tls))/kept"
        let usual = try await stores.session(verifies: true)
        let kept = try #require(await text(usual, url))
        let stranger = try await TestCA()
        for authorities: CertificateAuthorities in [
            .file(path: stranger.certificatePath), .system,
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
        withExtendedLifetime((usual, stranger)) {}
    }
}

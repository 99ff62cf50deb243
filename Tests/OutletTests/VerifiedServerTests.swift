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
}

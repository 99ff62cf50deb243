import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Cache, cookies and HSTS with third-party servers.
@Suite struct PolicyTests {
    private func cachingSession() -> Session {
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        return Session(configuration: configuration)
    }

    @Test func `a validated response from nginx does not transfer the body again`() async throws {
        let nginx = try await Nginx.shared()
        let session = cachingSession()
        let address = "\(nginx.baseURL())/small.txt"
        _ = await session.request(address).serializingString().response
        let second = await session.request(address).serializingString().response
        #expect(second.value == "small\n")
        #expect(second.response?.statusCode == 200)
        #expect(second.metrics?.resourceFetchType == .validatedCache)
        #expect(second.metrics?.responseBodyBytes == 0)
    }

    @Test func `a downloaded file is cached and validated with nginx`() async throws {
        let nginx = try await Nginx.shared()
        let directory = try TemporaryDirectory()
        let session = cachingSession()
        let file = URL(filePath: directory.path("file"))
        for expected in [TransferMetrics.ResourceFetchType.networkLoad, .validatedCache] {
            let response = await session.download(
                "\(nginx.baseURL())/small.txt", to: { _, _ in (file, .removePreviousFile) }
            ).validate().serializingString().response
            #expect(response.metrics?.resourceFetchType == expected)
            #expect(response.value == "small\n")
        }
    }

    @Test func `a cacheable response of httpbin is returned from memory`() async throws {
        let httpbin = try await Httpbin.shared()
        let session = cachingSession()
        let address = "\(httpbin.baseURL)/cache/60"
        for expected in [TransferMetrics.ResourceFetchType.networkLoad, .localCache] {
            let response = await session.request(address).serializingData().response
            #expect(response.error == nil)
            #expect(response.metrics?.resourceFetchType == expected)
        }
        let reload = await session.request(address).serializingData().response
        #expect(reload.response?.statusCode == 200)
    }

    @Test func `cookies of httpbin are sent after its redirect`() async throws {
        struct Answer: Decodable, Sendable {
            let cookies: [String: String]
        }
        let httpbin = try await Httpbin.shared()
        let session = Session()
        let answer = try await session.request("\(httpbin.baseURL)/cookies/set?a=1&b=2")
            .serializingDecodable(Answer.self).value
        #expect(answer.cookies == ["a": "1", "b": "2"])
        let cookies = session.sessionConfiguration.httpCookieStorage?.cookies.map(\.name)
        #expect(cookies == ["a", "b"])
    }

    @Test func `after an HSTS response from nginx, http requests use https`() async throws {
        let nginx = try await Nginx.shared()
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        let session = Session(configuration: configuration)
        let secure = nginx.baseURL(.tls).replacing("127.0.0.1", with: "localhost")
        let plain = secure.replacing("https:", with: "http:")
        // The TLS port refuses requests without encryption.
        let before = await session.request("\(plain)/small.txt").serializingString().response
        #expect(before.response?.statusCode == 400)
        _ = await session.request("\(secure)/hsts").serializingUnserialized().response
        let after = await session.request("\(plain)/small.txt").serializingString().response
        #expect(after.value == "small\n")
        #expect(after.response?.url?.scheme == "https")
        #expect(after.metrics?.tls.isEmpty == false)
    }
}

import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Tests that responses, cookies and HSTS policies are not shared between users.
@Suite struct UserSeparationTests {
    private func session(
        _ cache: ResponseCache, _ transport: StubTransport
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        configuration.httpCookieStorage = nil
        return Session(transport: transport, configuration: configuration)
    }

    private static func stub(_ field: String = "max-age=60") -> StubTransport {
        StubTransport { _ in StubAnswer(headers: ["Cache-Control": field], body: Data("x".utf8)) }
    }

    /// The ways in which a request can identify its user.
    private static let ways: [@Sendable (_ name: String?) -> HTTPRequest] = [
        { field("Authorization", $0.map { "Bearer \($0)" }) },
        { field("Cookie", $0.map { "id=\($0)" }) },
        { field("X-Api-Key", $0) }, { field("x-auth-token", $0) }, { field("X-Vault-Token", $0) },
        { HTTPRequest(url: URL(string: "http://\($0.map { "\($0):pw@" } ?? "")a.test/")) },
        { HTTPRequest(url: URL(string: "http://\($0.map { "me:\($0)@" } ?? "")a.test/")) },
    ]

    private static func field(_ name: String, _ value: String?) -> HTTPRequest {
        HTTPRequest(
            url: URL(string: "http://a.test/"),
            headers: value.map { HTTPHeaders([HTTPHeader(name: name, value: $0)]) } ?? [:])
    }

    @Test(arguments: ways.indices)
    func `a stored response is used only for requests of the same user`(way: Int) async {
        let transport = Self.stub()
        let session = session(ResponseCache(), transport)
        let persons: [String?] = ["ada", "bob", nil]
        for expected in [3, 3] {
            for person in persons {
                _ = await session.request(Self.ways[way](person)).serializingData().response
            }
            #expect(transport.requests.count == expected)
        }
    }

    @Test(arguments: [
        Credential(user: "bob", password: "pw"), Credential(user: "ada", password: "other"),
        Credential(bearerToken: "token"), Credential(bearerToken: "another"),
        Credential(user: "", password: "ada", scheme: .basic),
    ])
    func `a stored response is not used for another credential`(other: Credential) async {
        let transport = Self.stub()
        let session = session(ResponseCache(), transport)
        let credentials = [
            Credential(user: "ada", password: "pw"), Credential(bearerToken: "a token"), other,
        ]
        for _ in 0..<2 {
            for credential in credentials {
                _ = await session.request("http://a.test/").authenticate(with: credential)
                    .serializingData().response
            }
            #expect(transport.requests.count == 3)
        }
    }

    @Test func `a stored response of one user is not used by another session without that user`()
        async
    {
        let (cache, first, second) = (ResponseCache(), Self.stub(), Self.stub())
        let request = Self.field("Cookie", "id=ada")
        let one = session(cache, first)
        _ = await one.request(request).serializingData().response
        let other = session(cache, second)
        _ = await other.request("http://a.test/").serializingData().response
        #expect(second.requests.count == 1)
        _ = await other.request(request).serializingData().response
        #expect(second.requests.count == 1)
    }

    @Test func `a stored response is not shared between sessions with a client certificate`() async
    {
        let cache = ResponseCache()
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        let plain = Session(transport: Self.stub(), configuration: configuration)
        _ = await plain.request("http://a.test/").serializingData().response
        configuration.clientCertificate = ClientCertificate(certificate: .file(path: "me.pem"))
        for _ in 0..<2 {
            let transport = Self.stub()
            let session = Session(transport: transport, configuration: configuration)
            for _ in 0..<2 {
                _ = await session.request("http://a.test/").serializingData().response
            }
            #expect(transport.requests.count == 1)
        }
    }

    @Test(arguments: ["http://A.TEST/", "http://a%2Etest:80/", "http://a.test./#part"])
    func `equivalent spellings of a host share a stored response`(
        address: String
    ) async {
        let transport = Self.stub()
        let session = session(ResponseCache(), transport)
        _ = await session.request("http://a.test/").serializingData().response
        _ = await session.request(address).serializingData().response
        #expect(transport.requests.count == 1)
    }

    // MARK: Files

    @Test(arguments: ["max-age=60", "max-age=60, public"])
    func `no cache file contains a secret of a request`(directives: String) async throws {
        let directory = try TemporaryDirectory()
        let cache = ResponseCache(diskCapacity: 1 << 20, directory: directory.url)
        let transport = StubTransport { _ in
            StubAnswer(
                headers: ["Cache-Control": directives, "Vary": "X-Api-Key, Cookie"],
                body: Data("x".utf8))
        }
        let session = session(cache, transport)
        for request in Self.ways.map({ $0("geheim") }) {
            _ = await session.request(request).serializingData().response
        }
        cache.flush()
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
        for name in names {
            let bytes = try Data(contentsOf: directory.url.appending(path: name))
            #expect(bytes.firstRange(of: Data("geheim".utf8)) == nil)
        }
        // Public responses are stored, without the user's secrets.
        #expect(names.isEmpty == (directives == "max-age=60"))
    }

    // MARK: Defaults

    @Test func `nothing is cached by default`() async {
        let transport = Self.stub()
        let session = Session(transport: transport)
        #expect(session.sessionConfiguration.urlCache == nil)
        for _ in 0..<2 { _ = await session.request("http://a.test/").serializingData().response }
        #expect(transport.requests.count == 2)
    }

    @Test func `copies of a configuration share neither cookies nor HSTS`() async throws {
        let configuration = SessionConfiguration()
        let copy = configuration
        let transport = StubTransport { _ in
            .status(
                200,
                headers: ["Set-Cookie": "a=1", "Strict-Transport-Security": "max-age=60"])
        }
        let one = Session(transport: transport, configuration: configuration)
        _ = await one.request("https://a.test/").serializingData().response
        #expect(one.sessionConfiguration.httpCookieStorage?.cookies.count == 1)
        #expect(one.sessionConfiguration.hsts?.policies.count == 1)
        for configuration in [copy, configuration] {
            let other = Session(transport: transport, configuration: configuration)
            #expect(other.sessionConfiguration.httpCookieStorage?.cookies.isEmpty == true)
            #expect(other.sessionConfiguration.hsts?.policies.isEmpty == true)
            _ = await other.request("http://a.test/").serializingData().response
            #expect(transport.requests.last?.url?.scheme == "http")
            #expect(transport.requests.last?.headers["Cookie"] == nil)
        }
    }

    @Test func `sessions share explicitly set storages`() async {
        var configuration = SessionConfiguration()
        let (cookies, hsts) = (CookieStorage(), HSTSStorage.memory)
        configuration.httpCookieStorage = cookies
        configuration.hsts = hsts
        #expect(configuration.httpCookieStorage === cookies)
        let transport = StubTransport { _ in
            .status(
                200,
                headers: ["Set-Cookie": "a=1", "Strict-Transport-Security": "max-age=60"])
        }
        for address in ["https://a.test/", "http://a.test/"] {
            let session = Session(transport: transport, configuration: configuration)
            #expect(session.sessionConfiguration.httpCookieStorage === cookies)
            #expect(session.sessionConfiguration.hsts === hsts)
            _ = await session.request(address).serializingData().response
        }
        #expect(transport.requests.last?.url?.scheme == "https")
        #expect(transport.requests.last?.headers["Cookie"] == "a=1")
    }

    @Test func `a session with another session's configuration has its own storages`() {
        let one = Session(transport: Self.stub())
        let other = Session(transport: Self.stub(), configuration: one.sessionConfiguration)
        let (first, second) = (one.sessionConfiguration, other.sessionConfiguration)
        #expect(first.httpCookieStorage != nil && first.hsts != nil)
        #expect(first.httpCookieStorage !== second.httpCookieStorage)
        #expect(first.hsts !== second.hsts)
    }
}

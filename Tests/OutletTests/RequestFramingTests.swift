import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Fields that are added to a request after its creation are checked as well.
@Suite struct RequestFramingTests {
    private func server() throws -> ScriptedServer {
        try ScriptedServer.start(.request, .respond(body: "ok"), .again)
    }

    private func configuration(_ defaults: [(String, String)]) -> SessionConfiguration {
        var configuration = SessionConfiguration.default
        configuration.proxy = .none
        for (name, value) in defaults { configuration.headers.append(name: name, value: value) }
        return configuration
    }

    @Test(arguments: [
        ("X-Evil", "a\r\nX-Injected: b"), ("X-Evil", "a\nX-Injected: b"), ("X-Evil", "a\rb"),
        ("Transfer-Encoding", "chunked"), ("Content-Length", "5"), ("Connection", "close"),
        ("Host", "a/b"),
    ])
    func `invalid default fields are an error before anything is sent`(
        name: String, value: String
    ) async throws {
        let server = try server()
        let session = Session(configuration: configuration([(name, value)]))
        let response = await session.request(server.baseURL).serializingString().response
        #expect(response.error?.transferError?.code == .badRequest)
        #expect(response.error?.transferError?.reason.contains("header") == true)
        #expect(server.connections.count == 0)
    }

    @Test(arguments: ["Transfer-Encoding", "Connection", "Content-Length"])
    func `fields from an adapter are checked`(name: String) async throws {
        let server = try server()
        let session = Session(configuration: configuration([]))
        let adapter = Adapter { request, _, completion in
            var request = request
            request.headers.append(name: name, value: "4")
            completion(.success(request))
        }
        let response = await session.request(
            server.baseURL, interceptor: Interceptor(adapters: [adapter])
        )
        .serializingString().response
        #expect("\(String(describing: response.error))".contains(name))
        #expect(server.connections.count == 0)
    }

    @Test func `fields from a redirect handler are checked`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond("302 Found", headers: ["Location: /next"]), .again)
        let session = Session(configuration: configuration([]))
        let redirector = Redirector(
            behavior: .modify { _, request, _ in
                var request = request
                request.headers["Content-Length"] = "10"
                return request
            })
        let response = await session.request(server.baseURL).redirect(using: redirector)
            .serializingString().response
        #expect("\(String(describing: response.error))".contains("says 10, but the body has 0"))
        #expect(server.requests.values.count == 1)
    }

    @Test func `a compressed body is sent with its compressed length`() async throws {
        let server = try server()
        let session = Session(configuration: configuration([]))
        let text = String(repeating: "hello ", count: 100)
        var request = HTTPRequest(
            url: URL(string: server.baseURL), method: .post, headers: ["Content-Length": "600"],
            body: .data(Data(text.utf8)))
        request.headers["Content-Type"] = "text/plain"
        let response = await session.request(request, interceptor: .deflateCompressor)
            .serializingString().response
        #expect(response.value == "ok")
        let sent = try await server.requests.values(1)[0]
        #expect(sent.body.count < 100)
        #expect(sent.head.contains("\r\nContent-Length: \(sent.body.count)\r\n"))
    }

    @Test func `a multipart body with a wrong Content-Length is not sent`()
        async throws
    {
        let server = try server()
        let session = Session(configuration: configuration([]))
        let response = await session.upload(
            multipartFormData: { $0.append(Data("x".utf8), withName: "a") }, to: server.baseURL,
            headers: ["Content-Length": "3"]
        ).serializingString().response
        #expect("\(String(describing: response.error))".contains("says 3, but the body has"))
        #expect(server.connections.count == 0)
    }

    @Test func `a custom Host field does not change cookies or redirects`()
        async throws
    {
        let server = try ScriptedServer.start(
            .request,
            .respond("302 Found", headers: ["Location: /next", "Set-Cookie: a=1; Path=/"]),
            .request, .respond(body: "ok"), .again)
        let storage = CookieStorage()
        var configuration = configuration([])
        configuration.httpCookieStorage = storage
        let session = Session(configuration: configuration)
        let response = await session.request(server.baseURL, headers: ["Host": "other.example"])
            .serializingString().response
        #expect(response.value == "ok")
        let heads = try await server.requests.values(2).map(\.head)
        #expect(heads[1].hasPrefix("GET /next HTTP/1.1\r\nHost: other.example\r\n"))
        #expect(heads[1].contains("\r\nCookie: a=1\r\n"))
        #expect(storage.cookies.map(\.domain) == ["127.0.0.1"])
    }
}

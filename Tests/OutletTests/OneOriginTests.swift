import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// All policies treat each spelling of a host as the same server.
@Suite struct OneOriginTests {
    private struct RefusingEvaluator: ServerTrustEvaluating {
        struct Refusal: Error {}

        func evaluate(_ trust: ServerTrust, forHost host: String) throws { throw Refusal() }
    }

    /// Spellings of `localhost`.
    private static let spellings = [
        "localhost", "loc%61lhost", "LOCALHOST", "ｌocalhost", "localhost.",
    ]

    private func configuration() async throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(
            path: try await Nginx.shared().authority.certificatePath)
        return configuration
    }

    private func url(_ host: String, scheme: String) async throws -> String {
        "\(scheme)://\(host):\(try await Nginx.shared().port(.tls))/small.txt"
    }

    @Test(arguments: spellings)
    func `a refusing evaluator applies to each spelling of its host`(host: String) async throws {
        let session = Session(
            configuration: try await configuration(),
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": RefusingEvaluator()]))
        let response = await session.request(try await url(host, scheme: "https"))
            .serializingData().response
        #expect(response.response == nil)
        guard case .serverTrustEvaluationFailed = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
    }

    @Test(arguments: spellings)
    func `a missing evaluator is an error for each spelling of a host`(host: String) async throws {
        let session = Session(
            configuration: try await configuration(),
            serverTrustManager: ServerTrustManager(evaluators: [:]))
        let response = await session.request(try await url(host, scheme: "https"))
            .serializingData().response
        guard case .serverTrustEvaluationFailed(.noRequiredEvaluator("localhost")) = response.error
        else {
            Issue.record("\(String(describing: response.error))")
            return
        }
    }

    @Test(arguments: spellings)
    func `HSTS applies to each spelling of a host`(host: String) async throws {
        var configuration = try await configuration()
        let hsts = HSTSStorage.memory
        hsts.setPolicy(.init(host: "localhost", expiresDate: .distantFuture))
        configuration.hsts = hsts
        let session = Session(configuration: configuration)
        let response = await session.request(try await url(host, scheme: "http"))
            .serializingString().response
        #expect(response.value == "small\n")
        #expect(response.response?.url?.scheme == "https")
    }

    @Test(arguments: spellings)
    func `a cookie is sent for each spelling of its host`(host: String) async throws {
        let server = try ScriptedServer.start(
            .request, .respond(headers: ["Set-Cookie: a=1"], body: "x"), .request,
            .respond(body: "x"))
        let session = Session()
        let first = await session.request("http://localhost:\(server.port)/").serializingData()
            .response
        #expect(first.error == nil)
        let second = await session.request("http://\(host):\(server.port)/").serializingData()
            .response
        #expect(second.error == nil)
        let heads = try await server.requests.values(2).map(\.head)
        #expect(heads[1].contains("\r\nCookie: a=1\r\n"))
    }

    @Test(arguments: spellings)
    func `a redirect to another spelling of the host keeps the credential`(
        host: String
    ) async throws {
        let target = try ScriptedServer.start { _ in
            [
                .answer { request in
                    let port = request.head.firstRange(of: "Host: localhost:").map {
                        request.head[$0.upperBound...].prefix { $0.isNumber }
                    }
                    return Array(
                        """
                        HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\
                        Location: http://\(host):\(port ?? "1")/next\r\n\r\n
                        """.utf8)
                }, .request, .respond(body: "x"),
            ]
        }
        let session = Session()
        let response = await session.request(
            "http://localhost:\(target.port)/", headers: ["Authorization": "Bearer t"]
        ).serializingData().response
        #expect(response.error == nil)
        let heads = try await target.requests.values(2).map(\.head)
        #expect(heads[1].contains("\r\nAuthorization: Bearer t\r\n"))
    }
}

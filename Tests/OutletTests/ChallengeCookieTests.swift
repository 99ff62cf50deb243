import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Cookies of a challenge, as a server receives them.
@Suite struct ChallengeCookieTests {
    private static let challenge = "WWW-Authenticate: Basic realm=\"x\""

    @Test func `cookies of a challenge are sent with the answer, and to no other host`()
        async throws
    {
        let other = try ScriptedServer.start(.request, .respond(body: "there"))
        let server = try ScriptedServer.start(
            .request, .respond(headers: ["Set-Cookie: a=1"], body: "x"), .request,
            .respond("401 Unauthorized", headers: [Self.challenge, "Set-Cookie: a=2"]), .request,
            .respond("302 Found", headers: ["Location: http://localhost:\(other.port)/"]))
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "ada", password: "pw"),
            for: ProtectionSpace(
                host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "x"))
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        configuration.urlCredentialStorage = storage
        let session = Session(configuration: configuration)
        _ = await session.request(server.baseURL).serializingString().response
        let response = await session.request(server.baseURL).serializingString().response
        #expect(response.value == "there")
        let heads = try await server.requests.values(3).map(\.head)
        #expect(!heads[0].contains("Cookie: "))
        #expect(heads[1].contains("\r\nCookie: a=1\r\n"))
        #expect(heads[2].contains("\r\nCookie: a=2\r\n"))
        #expect(heads[2].contains("\r\nAuthorization: Basic "))
        let away = try await other.requests.values(1)[0].head
        #expect(!away.contains("Cookie: "))
        #expect(!away.contains("Authorization: "))
    }

    @Test(arguments: [
        ("Basic realm=\"x\"", nil), ("Digest realm=\"x\", nonce=\"n\"", nil),
        ("Basic realm=\"x\"", AuthenticationScheme.basic),
        ("Digest realm=\"x\", nonce=\"n\", qop=\"auth\"", .digest), ("Bearer", .bearer),
    ])
    func `cookies of a challenge are sent with the request's own credential`(
        challenge: String, scheme: AuthenticationScheme?
    ) async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond(
                "401 Unauthorized",
                headers: ["WWW-Authenticate: \(challenge)", "Set-Cookie: c=1"]),
            .request, .respond(body: "in"), .request, .respond(body: "again"))
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        let session = Session(configuration: configuration)
        let response = await session.request(server.baseURL)
            .authenticate(with: Credential(user: "ada", password: "pw", scheme: scheme))
            .serializingString().response
        #expect(response.value == "in")
        let next = await session.request(server.baseURL).serializingString().response
        #expect(next.value == "again")
        let heads = try await server.requests.values(3).map(\.head)
        let name = try #require(challenge.split(separator: " ").first)
        #expect(heads[1].contains("\r\nAuthorization: \(name) "))
        #expect(heads[1].contains("\r\nCookie: c=1\r\n"))
        #expect(heads[2].contains("\r\nCookie: c=1\r\n"))
    }
}

import Dispatch
import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// The handshake of a WebSocket: redirects and authentication.
@Suite(.timeLimit(.minutes(patience))) struct WebSocketHandshakeTests {
    private let session: Session

    init() {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        session = Session(configuration: configuration)
    }

    private let opened = ["connected", "disconnected 1000", "completed"]

    /// Refuses the first handshake with these challenges, and opens the WebSocket at the second.
    private func server(_ challenges: String...) throws -> ScriptedServer {
        try ScriptedServer.start { connection in
            connection == 0
                ? [
                    .request,
                    .respond(
                        "401 Unauthorized",
                        headers: challenges.map { "WWW-Authenticate: \($0)" }, body: "no"),
                ]
                : [.upgrade(), .send(.close(1000)), .frame]
        }
    }

    private func authorizations(_ server: ScriptedServer) -> [String?] {
        server.requests.values.map { request in
            request.head.split(separator: "\r\n").first { $0.hasPrefix("Authorization: ") }
                .map { String($0.dropFirst(15)) }
        }
    }

    // MARK: Credentials

    @Test func `a credential is sent after the challenge, not before`() async throws {
        let server = try server("Basic realm=\"x\"")
        let request = session.webSocketRequest(to: server.webSocketURL)
            .authenticate(username: "me", password: "secret")
        #expect(try await request.names() == opened)
        #expect(authorizations(server) == [nil, "Basic bWU6c2VjcmV0"])
        #expect(request.retryCount == 0 && request.tasks.count == 1)
        #expect(request.response?.statusCode == 101)
    }

    @Test func `Digest takes precedence over Basic, and the password is not sent`() async throws {
        let server = try server(
            "Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"n1\", qop=\"auth\", algorithm=SHA-256"
        )
        let request = session.webSocketRequest(to: server.webSocketURL + "/chat?room=1")
            .authenticate(username: "me", password: "secret")
        #expect(try await request.names() == opened)
        let field = try #require(try authorizations(server).at(1))
        #expect(field.hasPrefix("Digest username=\"me\", realm=\"x\", nonce=\"n1\", "))
        #expect(field.contains("uri=\"/chat?room=1\"") && field.contains("algorithm=SHA-256"))
        #expect(!field.contains("secret"))
    }

    @Test(arguments: [
        (Credential(user: "me", password: "secret", scheme: .basic), "Basic bWU6c2VjcmV0"),
        (Credential(bearerToken: "t0"), "Bearer t0"),
    ])
    func `a Basic or Bearer credential is sent with the first request`(
        credential: Credential, field: String
    ) async throws {
        let server = try ScriptedServer.start(.upgrade(), .send(.close(1000)), .frame)
        let request = session.webSocketRequest(to: server.webSocketURL)
            .authenticate(with: credential)
        #expect(try await request.names() == opened)
        #expect(authorizations(server) == [field])
    }

    @Test(arguments: [nil, AuthenticationScheme.basic, .digest])
    func `a credential that is refused is not sent again`(
        scheme: AuthenticationScheme?
    ) async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond(
                "401 Unauthorized",
                headers: [
                    "WWW-Authenticate: Basic realm=\"x\"",
                    "WWW-Authenticate: Digest realm=\"x\", nonce=\"n\"",
                ], body: "no"))
        let request = session.webSocketRequest(to: server.webSocketURL)
            .authenticate(with: Credential(user: "me", password: "wrong", scheme: scheme))
        #expect(try await request.names() == ["completed badServerResponse"])
        #expect(request.response?.statusCode == 401)
        #expect(server.requests.values.count == (scheme == .basic ? 1 : 2))
    }

    @Test func `a stale nonce is replaced`() async throws {
        let server = try ScriptedServer.start { connection in
            guard connection < 2 else { return [.upgrade(), .send(.close(1000)), .frame] }
            let stale = connection == 0 ? "" : ", stale=TRUE"
            return [
                .request,
                .respond(
                    "401 Unauthorized",
                    headers: [
                        "WWW-Authenticate: Digest realm=\"x\", nonce=\"n\(connection)\"\(stale)"
                    ]),
            ]
        }
        let request = session.webSocketRequest(to: server.webSocketURL)
            .authenticate(username: "me", password: "secret")
        #expect(try await request.names() == opened)
        #expect(try authorizations(server).at(2)?.contains("nonce=\"n1\"") == true)
    }

    @Test func `a stored credential answers a challenge and is sent with the next handshake`()
        async throws
    {
        let server = try server("Basic realm=\"x\"")
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "me", password: "secret"),
            for: ProtectionSpace(
                host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "x"))
        configuration.urlCredentialStorage = storage
        let session = Session(configuration: configuration)
        for _ in 0..<2 {
            #expect(
                try await session.webSocketRequest(to: server.webSocketURL).names() == opened)
        }
        #expect(authorizations(server) == [nil, "Basic bWU6c2VjcmV0", "Basic bWU6c2VjcmV0"])
    }

    // MARK: Redirects

    @Test(arguments: ["http", "ws"])
    func `a redirect is followed`(scheme: String) async throws {
        let server = try ScriptedServer.start(.upgrade(), .send(.close(1000)), .frame)
        let first = try ScriptedServer.start(
            .request,
            .respond("302 Found", headers: ["Location: \(scheme)://127.0.0.1:\(server.port)/there"])
        )
        let request = session.webSocketRequest(to: first.webSocketURL)
            .authenticate(with: Credential(user: "me", password: "secret", scheme: .basic))
        #expect(try await request.names() == opened)
        #expect(try await server.requests.values(1)[0].head.hasPrefix("GET /there "))
        // The credential is not sent to another origin.
        #expect(authorizations(first) == ["Basic bWU6c2VjcmV0"])
        #expect(authorizations(server) == [nil])
    }

    @Test func `onlyFromMainDocumentDomain refuses cookies of other sites after a redirect`()
        async throws
    {
        let server = try ScriptedServer.start(
            .upgrade(["Set-Cookie: b=1"]), .send(.close(1000)), .frame)
        let first = try ScriptedServer.start(
            .request,
            .respond(
                "302 Found",
                headers: ["Set-Cookie: a=1", "Location: ws://127.0.0.1:\(server.port)/"]))
        let session = Session.isolated {
            $0.httpCookieStorage = CookieStorage()
            $0.httpCookieAcceptPolicy = .onlyFromMainDocumentDomain
        }
        let request = session.webSocketRequest(to: "ws://localhost:\(first.port)/")
        #expect(try await request.names() == opened)
        let cookies = session.sessionConfiguration.httpCookieStorage?.cookies
        #expect(cookies?.map(\.name) == ["a"])
    }

    @Test func `a redirect within the origin keeps the credential`() async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .respond("307 Temporary Redirect", headers: ["Location: /there"])]
                : [.upgrade(), .send(.close(1000)), .frame]
        }
        let request = session.webSocketRequest(to: server.webSocketURL)
            .authenticate(with: Credential(user: "me", password: "secret", scheme: .basic))
        #expect(try await request.names() == opened)
        #expect(authorizations(server) == ["Basic bWU6c2VjcmV0", "Basic bWU6c2VjcmV0"])
    }

    @Test func `a redirect of another request does not lead to a WebSocket`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond("302 Found", headers: ["Location: ws://127.0.0.1:1/"]))
        let response = await session.request(server.baseURL).serializingData().response
        #expect(response.error?.transferError?.code == .redirectToNonExistentLocation)
    }

    // MARK: Messages that wait for the handshake

    @Test func `a refused handshake fails send and messages with its status`() async throws {
        let server = try ScriptedServer.start(.request, .respond("403 Forbidden", body: "no"))
        let task = session.webSocketRequest(to: server.webSocketURL).webSocketTask()
        let error = await #expect(throws: SessionError.self) { try await task.send(.string("x")) }
        #expect(error?.responseCode == 403)
        let refusal = await #expect(throws: SessionError.self) {
            for try await _ in session.webSocketRequest(to: server.webSocketURL).webSocketTask()
                .messages()
            {}
        }
        #expect(refusal?.responseCode == 403)
    }

    @Test func `a message is sent after the accepted handshake`() async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [
                    .request,
                    .respond(
                        "401 Unauthorized", headers: ["WWW-Authenticate: Basic realm=\"x\""]),
                ]
                : [.upgrade(), .echo]
        }
        let request = session.webSocketRequest(to: server.webSocketURL)
            .authenticate(username: "me", password: "secret")
        let task = request.webSocketTask()
        try await task.send(.string("hello"))
        for try await message in task.messages() {
            #expect(message == .string("hello"))
            task.close(sending: .normalClosure)
        }
        #expect(server.frames.values.first?.text == "hello")
    }
}

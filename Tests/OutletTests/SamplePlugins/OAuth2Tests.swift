import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// The sample `OAuth2`.
@Suite(.timeLimit(.minutes(2 * patience))) struct OAuth2Tests {
    private let plugin = SamplePlugin(name: "oauth2")

    /// A response with a body.
    private static func reply(_ status: String, _ body: String) -> [UInt8] {
        Array(
            "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
                .utf8)
    }

    /// A server that issues `token-1`, `token-2` and so on.
    private func tokenServer(
        _ more: String = #", "expires_in": 3600"#, after gate: Gate? = nil
    ) throws -> ScriptedServer {
        let count = Lock(0)
        return try ScriptedServer.start { _ in
            (gate.map { [.wait($0)] } ?? []) + [
                .answer { _ in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    return Self.reply(
                        "200 OK",
                        #"{"access_token": "token-\#(number)", "token_type": "Bearer"\#(more)}"#)
                }
            ]
        }
    }

    /// A server that responds 401 to all tokens except `tokens`.
    private func server(accepting tokens: Set<String>? = nil) throws -> ScriptedServer {
        try ScriptedServer.start { _ in
            [
                .answer { request in
                    let token = Self.token(of: request)
                    let isAccepted = tokens.map { $0.contains(token ?? "") } ?? true
                    return Self.reply(isAccepted ? "200 OK" : "401 Unauthorized", token ?? "none")
                }
            ]
        }
    }

    private static func token(of request: ScriptedServer.Request) -> String? {
        request.head.split(separator: "\r\n").first { $0.hasPrefix("Authorization: ") }
            .map { String($0.dropFirst("Authorization: Bearer ".count)) }
    }

    private func settings(
        _ tokens: ScriptedServer, _ server: ScriptedServer, _ more: String = ""
    ) -> String {
        """
        {"token_url": "\(tokens.baseURL)/token", "origins": ["\(server.baseURL)"],
         "client_id": "my client:1", "client_secret": "s&cret"\(more)}
        """
    }

    // MARK: Fetching

    @Test func `a token is fetched once, and sent with all requests`() async throws {
        let (tokens, server) = (try tokenServer(), try server())
        let session = try plugin.session(settings(tokens, server, #", "scope": "a b/c""#))
        for _ in 0..<3 {
            #expect(await session.response(to: server.baseURL).value == "token-1")
        }
        let asked = try await tokens.requests.values(1)
        #expect(asked.count == 1)
        #expect(asked[0].head.hasPrefix("POST /token HTTP/1.1\r\n"))
        let credential = Data("my+client%3A1:s%26cret".utf8).base64EncodedString()
        #expect(asked[0].head.contains("\r\nAuthorization: Basic \(credential)\r\n"))
        #expect(
            String(decoding: asked[0].body, as: UTF8.self)
                == "grant_type=client_credentials&scope=a+b%2Fc")
    }

    @Test func `the client secret can be sent in the body and read from a file`() async throws {
        let (tokens, server) = (try tokenServer(), try server())
        let directory = try TemporaryDirectory()
        let file = try directory.write("p+ss\n", to: "secret")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let session = try plugin.session(
            """
            {"token_url": "\(tokens.baseURL)", "origins": ["\(server.baseURL)/"], "client_id": "me",
             "client_secret_file": "\(file)", "client_auth": "post"}
            """)
        #expect(await session.response(to: server.baseURL).value == "token-1")
        let asked = try await tokens.requests.values(1)[0]
        #expect(!asked.head.contains("Authorization"))
        #expect(
            String(decoding: asked.body, as: UTF8.self)
                == "grant_type=client_credentials&client_id=me&client_secret=p%2Bss")
    }

    @Test func `an expired token is replaced with its refresh token`()
        async throws
    {
        let tokens = try tokenServer(#", "expires_in": 0, "refresh_token": "second""#)
        let server = try server()
        let session = try plugin.session(
            settings(tokens, server, #", "grant": "refresh_token", "refresh_token": "first""#))
        #expect(await session.response(to: server.baseURL).value == "token-1")
        #expect(await session.response(to: server.baseURL).value == "token-2")
        let bodies = try await tokens.requests.values(2).map {
            String(decoding: $0.body, as: UTF8.self)
        }
        #expect(
            bodies == [
                "grant_type=refresh_token&refresh_token=first",
                "grant_type=refresh_token&refresh_token=second",
            ])
    }

    @Test func `a token without an expiry is kept`() async throws {
        let (tokens, server) = (try tokenServer(""), try server())
        let session = try plugin.session(settings(tokens, server))
        for _ in 0..<2 { #expect(await session.response(to: server.baseURL).value == "token-1") }
        #expect(tokens.requests.count == 1)
    }

    @Test func `simultaneous requests share one token request`() async throws {
        let gate = try Gate()
        let (tokens, server) = (try tokenServer(after: gate), try server())
        let session = try plugin.session(settings(tokens, server))
        let values = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                group.addTask { await session.response(to: server.baseURL).value }
            }
            try await tokens.connections.values(1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: "token-1", count: 20))
        #expect(tokens.requests.count == 1)
    }

    @Test func `a cancelled request does not cancel the token request for others`() async throws {
        let gate = try Gate()
        let (tokens, server) = (try tokenServer(after: gate), try server())
        let session = try plugin.session(settings(tokens, server))
        let first = session.session.request(server.baseURL)
        async let cancelled = first.serializingString().response
        try await tokens.connections.values(1)
        first.cancel()
        #expect(await cancelled.error?.isExplicitlyCancelledError == true)
        async let second = session.response(to: server.baseURL)
        gate.open()
        #expect(await second.value == "token-1")
        #expect(tokens.requests.count == 1 && server.requests.count == 1)
    }

    // MARK: 401

    @Test func `after a 401 a request is sent again once with another token`() async throws {
        let (tokens, server) = (try tokenServer(), try server(accepting: ["token-2"]))
        let session = try plugin.session(settings(tokens, server))
        var request = HTTPRequest(url: URL(string: server.baseURL), method: .post)
        request.body = .data(Data("body".utf8))
        #expect(await session.response(to: request).value == "token-2")
        #expect(
            server.requests.values.map(\.body) == Array(repeating: Array("body".utf8), count: 2))
        #expect(await session.response(to: request).value == "token-2")
        #expect(tokens.requests.count == 2)
    }

    @Test func `a second token that is refused is not kept`() async throws {
        let (tokens, server) = (try tokenServer(), try server(accepting: ["token-3"]))
        let session = try plugin.session(settings(tokens, server))
        #expect(await session.response(to: server.baseURL).response?.statusCode == 401)
        #expect(server.requests.count == 2)
        #expect(await session.response(to: server.baseURL).value == "token-3")
        #expect(server.requests.count == 3 && tokens.requests.count == 3)
    }

    @Test func `a 401 from a server that gets no token does not replace the token`()
        async throws
    {
        let (tokens, other) = (try tokenServer(), try server(accepting: []))
        let server = try ScriptedServer.start { _ in
            [.request, .respond("302 Found", headers: ["Location: \(other.baseURL)/"])]
        }
        let session = try plugin.session(settings(tokens, server))
        for count in 1...2 {
            #expect(await session.response(to: server.baseURL).response?.statusCode == 401)
            #expect(server.requests.count == count && other.requests.count == count)
        }
        #expect(server.requests.values.map(Self.token) == ["token-1", "token-1"])
        #expect(tokens.requests.count == 1)
    }

    @Test func `simultaneous requests with a refused token share the next token`() async throws {
        let (tokens, server) = (try tokenServer(), try server(accepting: ["token-2"]))
        let session = try plugin.session(settings(tokens, server))
        let values = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                group.addTask { await session.response(to: server.baseURL).value }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: "token-2", count: 20))
        #expect(tokens.requests.count == 2)
    }

    // MARK: Origins

    @Test func `no token is sent to other servers, also after a redirect`() async throws {
        let (tokens, other) = (try tokenServer(), try server())
        let server = try ScriptedServer.start(
            .request, .respond("302 Found", headers: ["Location: \(other.baseURL)/"]))
        let session = try plugin.session(settings(tokens, server))
        #expect(await session.response(to: other.baseURL).value == "none")
        #expect(tokens.connections.count == 0)
        #expect(await session.response(to: server.baseURL).value == "none")
        #expect(Self.token(of: try await server.requests.values(1)[0]) == "token-1")
    }

    @Test(arguments: [
        "http://localhost:PORT/", "http://127.1:PORT/", "http://%3127.0.0.1:PORT/",
    ])
    func `no token is sent to another spelling of the server`(address: String) async throws {
        let (tokens, server) = (try tokenServer(), try server())
        let session = try plugin.session(settings(tokens, server))
        let response = await session.response(
            to: address.replacing("PORT", with: "\(server.port)"))
        #expect(response.value == "none")
        #expect(tokens.connections.count == 0)
    }

    @Test func `an own Authorization field is kept, and another Host gets no token`()
        async throws
    {
        let (tokens, server) = (try tokenServer(), try server())
        let session = try plugin.session(settings(tokens, server))
        let own = await session.response(
            to: server.baseURL, headers: ["Authorization": "Bearer mine"])
        #expect(own.value == "mine")
        let fronted = await session.response(to: server.baseURL, headers: ["Host": "other.test"])
        #expect(fronted.value == "none")
        #expect(tokens.connections.count == 0)
    }

    // MARK: Failures

    @Test(arguments: [
        (
            "400 Bad Request", #"{"error": "invalid_client", "error_description": "s&cret"}"#,
            "token-refused", "the token server responded 400: invalid_client"
        ),
        (
            "400 Bad Request", #"{"error": "Bad\nclient"}"#, "token-refused",
            "the token server responded 400"
        ),
        ("503 Busy", "", "token-refused", "the token server responded 503"),
        ("200 OK", "[]", "token-unreadable", "the token server's response has no bearer token"),
        (
            "200 OK", #"{"access_token": "a b", "token_type": "bearer"}"#, "token-unreadable",
            "the token server's response has no bearer token"
        ),
        (
            "200 OK", #"{"access_token": "hidden", "token_type": "mac"}"#, "token-unreadable",
            "the token server's response has no bearer token"
        ),
    ])
    func `a failed token request fails the request`(
        status: String, body: String, code: String, message: String
    ) async throws {
        let tokens = try ScriptedServer.start(.answer { _ in Self.reply(status, body) })
        let server = try server()
        let session = try plugin.session(settings(tokens, server))
        let error = await session.response(to: server.baseURL).error?.pluginError
        #expect(error?.code == code && error?.message == message, "\(error?.message ?? "")")
        #expect(error?.hook == .finalize)
        #expect(server.connections.count == 0)
    }

    @Test func `a token request times out after timeout_s`() async throws {
        let tokens = try ScriptedServer.start(.request, .stall)
        let server = try server()
        let session = try plugin.session(settings(tokens, server, #", "timeout_s": 1"#))
        let error = await session.response(to: server.baseURL).error?.pluginError
        #expect(error?.code == "timed-out", "\(error?.message ?? "")")
        #expect(error?.message.hasPrefix("the token server sent no response: ") == true)
        #expect(server.connections.count == 0)
    }

    // MARK: Configuration

    private static let least =
        #""token_url": "https://a.test/t", "origins": ["https://b.test"], "client_id": "me""#

    @Test(
        arguments: [
            (#"{\#(least), "client_secret": "hidden"}"#, nil),
            (
                #"{\#(least), "client_secret": "hidden", "grant": "refresh_token", "refresh_token": "hidden"}"#,
                nil
            ),
            (#"{\#(least), "grant": "refresh_token", "refresh_token": "hidden"}"#, nil),
            (#"{\#(least)}"#, "\"client_secret\": not set"),
            (#"{"origins": [], "client_id": "me"}"#, "'token_url'"),
            (#"{"token_url": "https://a.test", "client_id": "me"}"#, "'origins'"),
            (
                #"{"token_url": 1, "origins": [], "client_id": "me"}"#,
                "/token_url: "
            ),
            (
                #"{"token_url": "http://a.test", "origins": ["https://b.test"], "client_id": "me"}"#,
                "\"token_url\": not an address"
            ),
            (
                #"{"token_url": "https://a.test", "origins": [], "client_id": "me"}"#,
                "/origins: "
            ),
            (
                #"{"token_url": "https://a.test", "origins": ["b.test"], "client_id": "me"}"#,
                "\"origins\": element 1"
            ),
            (
                #"{"token_url": "https://a.test", "origins": ["http://b.test"], "client_id": "me"}"#,
                "\"origins\": element 1"
            ),
            (
                #"{"token_url": "https://a.test", "origins": ["https://b.test/x"], "client_id": "me"}"#,
                "\"origins\": element 1"
            ),
            (
                #"{"token_url": "https://a.test", "origins": ["https://u@b.test"], "client_id": "me"}"#,
                "\"origins\": element 1"
            ),
            (#"{\#(least), "client_secret": ""}"#, "/client_secret: "),
            (
                #"{\#(least), "client_secret": "hidden", "client_secret_file": "/x"}"#,
                "\"client_secret\": set"
            ),
            (
                #"{\#(least), "client_secret_file": "x"}"#,
                "/client_secret_file: "
            ),
            (
                #"{\#(least), "client_secret_file": "/dev/zero"}"#,
                "\"client_secret_file\": not a regular file"
            ),
            (
                #"{\#(least), "client_secret_file": "/none/at/all"}"#,
                "\"client_secret_file\": there is no such file"
            ),
            (#"{\#(least), "client_secret": "hidden", "grant": "password"}"#, "/grant: "),
            (
                #"{\#(least), "client_secret": "hidden", "grant": "refresh_token"}"#,
                "\"refresh_token\""
            ),
            (
                #"{\#(least), "client_secret": "hidden", "refresh_token": "hidden"}"#,
                "\"refresh_token\""
            ),
            (
                #"{\#(least), "client_secret": "hidden", "client_auth": "digest"}"#,
                "/client_auth: "
            ),
            (#"{\#(least), "client_secret": "hidden", "timeout_s": 0}"#, "/timeout_s: "),
            (
                #"{\#(least), "client_secret": "hidden", "refresh_before_s": 1.5}"#,
                "/refresh_before_s: "
            ),
            (#"{\#(least), "secret": "hidden"}"#, "'secret'"),
        ] as [(String, String?)])
    func `the error of an invalid configuration names the setting`(
        configuration: String, words: String?
    ) {
        let refusal = plugin.refusal(of: configuration)
        if let words {
            #expect(
                refusal?.contains(words) == true, "\(refusal ?? "it started")")
        } else {
            #expect(refusal == nil)
        }
        #expect(refusal?.contains("hidden") != true)
    }

    @Test func `a secret file that other users can read is refused`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("classified", to: "secret")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let refusal = plugin.refusal(of: #"{\#(Self.least), "client_secret_file": "\#(file)"}"#)
        #expect(
            refusal?.contains("\"client_secret_file\": the file is open to other users") == true)
        #expect(refusal?.contains("classified") == false)
    }
}

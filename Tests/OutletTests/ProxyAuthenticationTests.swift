import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Proxies that require authentication.
@Suite(.timeLimit(.minutes(3))) struct ProxyAuthenticationTests {
    private static let challenges = [
        "basic": "Basic realm=p", "digest": "Digest realm=p, nonce=n, qop=\"auth\"",
    ]

    private func session(
        _ proxy: ScriptedServer, _ storage: CredentialStorage?,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        .isolated {
            $0.proxy = .url(proxy.baseURL, except: [])
            $0.urlCredentialStorage = storage
            change(&$0)
        }
    }

    private func storage(
        _ proxy: ScriptedServer, _ method: String, realm: String = "p", password: String = "secret"
    ) -> CredentialStorage {
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "ada", password: password),
            for: ProtectionSpace(
                host: "127.0.0.1", port: Int(proxy.port), protocol: "http", realm: realm,
                authenticationMethod: method, isProxy: true))
        return storage
    }

    /// A proxy that challenges requests without a credential, and accepts all others.
    private func asking(_ challenge: String, then steps: [Step]) throws -> ScriptedServer {
        try ScriptedServer.start { _ in
            [
                .answer { request in
                    let isKnown = request.head.contains("\r\nProxy-Authorization: ")
                    let head =
                        isKnown
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin"
                        : "HTTP/1.1 407 No\r\nProxy-Authenticate: \(challenge)\r\n"
                            + "Content-Length: 3\r\n\r\nout"
                    return Array(head.utf8)
                }
            ] + steps
        }
    }

    @Test func `the proxy credential is sent with the scheme of the challenge`() async throws {
        let proxy = try ScriptedServer.start(
            .request,
            .respond("407 No", headers: ["Proxy-Authenticate: Basic realm=p"]),
            .request, .respond(body: "in"))
        defer { proxy.stop() }
        var configuration = SessionConfiguration()
        configuration.proxy = .url(proxy.baseURL, except: [])
        configuration.proxyCredential = Credential(user: "ada", password: "secret")
        let session = Session(configuration: configuration)
        let response = await session.request("http://origin.test/").serializingString().response
        #expect(response.value == "in")
        let heads = proxy.requests.values.map(\.head)
        #expect(try !heads.at(0).contains("Proxy-Authorization"))
        #expect(try heads.at(1).contains("Proxy-Authorization: Basic YWRhOnNlY3JldA=="))
        #expect(try !heads.at(1).contains("\r\nAuthorization"))
    }

    @Test(arguments: RequestKind.allCases, ["basic", "digest"])
    func `a stored proxy credential answers a challenge, and Basic is reused without one`(
        kind: RequestKind, method: String
    ) async throws {
        let challenge = try #require(Self.challenges[method])
        let proxy = try asking(challenge, then: [.again])
        let session = session(proxy, storage(proxy, method))
        for path in ["1", "2"] {
            let outcome = try await kind.outcome("http://origin.test/\(path)", by: session)
            #expect(outcome.error == nil && outcome.text == "in" && outcome.statusCode == 200)
        }
        let heads = proxy.requests.values.map(\.head)
        let known = heads.map { $0.lowercased().contains("\r\nproxy-authorization: \(method) ") }
        // Digest needs a new challenge each time.
        #expect(
            known
                == (method == "basic"
                    ? [false, true, true] : [false, false, true, false, true]))
        #expect(heads.allSatisfy { !$0.contains("\r\nAuthorization") })
    }

    /// Starts a proxy that opens tunnels to a server's port for TLS, for requests with a credential.
    ///
    /// - Parameter challenge: What it answers to others, with 407.
    private static func tunnel(to server: Nginx, _ challenge: String) throws -> ScriptedServer {
        try ScriptedServer.start { _ in
            [
                .answer { request in
                    let isKnown = request.head.contains("\r\nProxy-Authorization: ")
                    let head =
                        isKnown
                        ? "HTTP/1.1 200 Connection established\r\n\r\n"
                        : "HTTP/1.1 407 No\r\nProxy-Authenticate: \(challenge)\r\n"
                            + "Content-Length: 0\r\nConnection: close\r\n\r\n"
                    return Array(head.utf8)
                }, .relay(.loopback(port: server.port(.tls))),
            ]
        }
    }

    @Test func `a tunnel is opened with the stored proxy credential`() async throws {
        let nginx = try await Nginx.shared()
        for method in ["basic", "digest"] {
            let challenge = try #require(Self.challenges[method])
            let proxy = try Self.tunnel(to: nginx, challenge)
            let session = session(proxy, storage(proxy, method)) {
                $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            }
            for _ in 0..<2 {
                let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
                    .serializingString().response
                #expect(response.value == "small\n", "\(method)")
                #expect(response.response?.statusCode == 200)
            }
            #expect(
                proxy.requests.values.allSatisfy { $0.head.hasPrefix("CONNECT localhost:") })
        }
    }

    @Test func `sessions of one transport share a tunnel only with the same proxy credential`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let proxy = try Self.tunnel(to: nginx, "Basic realm=p")
        defer { proxy.stop() }
        var configuration = SessionConfiguration()
        configuration.proxy = .url(proxy.baseURL, except: [])
        configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        let transport = CurlTransport(configuration: configuration)
        func session(_ storage: CredentialStorage?) -> Session {
            var own = configuration
            own.urlCredentialStorage = storage
            return Session(transport: transport, configuration: own)
        }
        let known = session(storage(proxy, "basic"))
        let unknown = session(nil)
        for _ in 0..<2 {
            let response = await known.request("\(nginx.baseURL(.tls))/small.txt")
                .serializingString().response
            #expect(response.value == "small\n")
            let refused = await unknown.request("\(nginx.baseURL(.tls))/small.txt")
                .serializingString().response
            #expect(refused.error?.transferError?.code == .proxyConnectionFailed)
        }
    }

    @Test(arguments: ["max-age=0", "max-age=99; includeSubDomains"], [false, true])
    func `a proxy that refuses a tunnel does not change the server's HSTS policy`(
        field: String, hasCache: Bool
    ) async throws {
        let nginx = try await Nginx.shared()
        let proxy = try ScriptedServer.start { _ in
            [
                .answer { request in
                    let isKnown = request.head.contains("\r\nProxy-Authorization: ")
                    let head =
                        isKnown
                        ? "HTTP/1.1 200 Connection established\r\n\r\n"
                        : "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=p\r\n"
                            + "Strict-Transport-Security: \(field)\r\n"
                            + "Content-Length: 0\r\nConnection: close\r\n\r\n"
                    return Array(head.utf8)
                }, .relay(.loopback(port: nginx.port(.tls))),
            ]
        }
        defer { proxy.stop() }
        let hsts = HSTSStorage.memory
        let policy = HSTSStorage.Policy(host: "localhost", expiresDate: Date() + 1000)
        hsts.setPolicy(policy)
        let session = session(proxy, storage(proxy, "basic")) {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            $0.hsts = hsts
            $0.urlCache = hasCache ? ResponseCache() : nil
        }
        let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
            .serializingString().response
        #expect(response.value == "small\n")
        #expect(proxy.requests.count == 2)
        #expect(hsts.policies == [policy])
    }

    @Test func `a wrong stored proxy credential is sent once, and the 407 is the response`()
        async throws
    {
        let proxy = try ScriptedServer.start(
            .request, .respond("407 No", headers: ["Proxy-Authenticate: Basic realm=p"]), .again)
        let session = session(proxy, storage(proxy, "basic", password: "wrong"))
        for _ in 0..<2 {
            let response = await session.request("http://origin.test/")
                .serializingData(emptyResponseCodes: [407]).response
            #expect(response.response?.statusCode == 407)
            #expect(response.error == nil)
        }
        let known = proxy.requests.values.map { $0.head.contains("Proxy-Authorization") }
        #expect(known == [false, true, false, true])
        let tunnel = await session.request("https://origin.test/").serializingData().response
        #expect(tunnel.error?.transferError?.code == .proxyConnectionFailed)
        #expect(tunnel.error?.transferError?.reason.contains("407") == true)
        #expect(tunnel.response == nil)
        #expect(proxy.requests.count == 6)
    }

    @Test func `a stored proxy credential is not sent for another realm, method or a server`()
        async throws
    {
        let proxy = try ScriptedServer.start(
            .request, .respond("407 No", headers: ["Proxy-Authenticate: Basic realm=p"]), .again)
        let server = CredentialStorage()
        server.set(
            Credential(user: "ada", password: "secret"),
            for: ProtectionSpace(
                host: "127.0.0.1", port: Int(proxy.port), protocol: "http", realm: "p",
                authenticationMethod: "basic"))
        for storage in [
            storage(proxy, "basic", realm: "q"), storage(proxy, "digest"), server, nil,
        ] {
            let session = session(proxy, storage)
            let response = await session.request("http://origin.test/")
                .serializingData(emptyResponseCodes: [407]).response
            #expect(response.response?.statusCode == 407)
            let tunnel = await session.request("https://origin.test/").serializingData().response
            #expect(tunnel.error?.transferError?.code == .proxyConnectionFailed)
        }
        #expect(proxy.requests.count == 8)
        #expect(proxy.requests.values.allSatisfy { !$0.head.contains("uthorization") })
    }

    @Test func `a proxy that always changes its realm gets four requests`() async throws {
        let proxy = try ScriptedServer.start { _ in
            [
                .answer { request in
                    let realm = request.head.contains("MTo=") ? 1 : 2
                    return Array(
                        ("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\(realm)\r\n"
                            + "Content-Length: 0\r\n\r\n").utf8)
                }, .again,
            ]
        }
        let storage = CredentialStorage()
        for realm in 1...2 {
            storage.set(
                Credential(user: "\(3 - realm)", password: ""),
                for: ProtectionSpace(
                    host: "127.0.0.1", port: Int(proxy.port), protocol: "http",
                    realm: "\(realm)", authenticationMethod: "basic", isProxy: true))
        }
        let session = session(proxy, storage)
        let response = await session.request("http://origin.test/")
            .serializingData(emptyResponseCodes: [407]).response
        #expect(response.response?.statusCode == 407)
        #expect(proxy.requests.count == 4)
    }

    @Test func `the head of a reopened tunnel is not part of a response`() async throws {
        let nginx = try await Nginx.shared()
        let proxy = try ScriptedServer.start { _ in
            [
                .request, .send("HTTP/1.1 200 Connection established\r\nX-Tunnel: 1\r\n\r\n"),
                .relayed(.loopback(port: nginx.port(.tls)), limit: 6000),
            ]
        }
        let session = session(proxy, nil) {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            $0.httpVersion = .http1
        }
        for _ in 0..<20 {
            let response = await session.request("\(nginx.baseURL(.tls))/info")
                .serializingString().response
            // Some responses are cut by the proxy; none contains the tunnel's head.
            if response.error == nil {
                #expect(response.response?.statusCode == 200)
                #expect(response.value?.contains("\"protocol\"") == true)
            }
            #expect(response.response?.headers["X-Tunnel"] == nil)
        }
        #expect(proxy.requests.count > 1)
    }
}

/// Servers that respond as if they were a proxy.
@Suite(.timeLimit(.minutes(3))) struct FalseProxyTests {
    private func storage(_ proxy: ScriptedServer) -> CredentialStorage {
        let storage = CredentialStorage()
        for method in ["basic", "digest"] {
            storage.set(
                Credential(user: "ada", password: "secret"),
                for: ProtectionSpace(
                    host: "127.0.0.1", port: Int(proxy.port), protocol: "http", realm: "p",
                    authenticationMethod: method, isProxy: true))
        }
        return storage
    }

    /// A server that sends a 407 once on each connection.
    private func falseProxy() throws -> ScriptedServer {
        try ScriptedServer.start(
            .request, .respond("407 No", headers: ["Proxy-Authenticate: Basic realm=p"]),
            .request, .respond(body: "in"), .again)
    }

    @Test func `a 407 from a server in a tunnel does not reveal the proxy's password`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let server = try falseProxy()
        defer { server.stop() }
        let proxy = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 Connection established\r\n\r\n"),
            .relay(.loopback(port: nginx.port(.tls))))
        defer { proxy.stop() }
        for cache in [nil, ResponseCache()] {
            let session = Session.isolated {
                $0.proxy = .url(proxy.baseURL, except: [])
                $0.urlCredentialStorage = storage(proxy)
                $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
                $0.urlCache = cache
            }
            let url = "\(nginx.baseURL(.tls))/socket/\(server.port)/"
            let response = await session.request(url).serializingData(emptyResponseCodes: [407])
                .response
            #expect(response.response?.statusCode == 407)
        }
        #expect(server.requests.count == 2)
        #expect(proxy.requests.values.allSatisfy { !$0.head.contains("Proxy-Authorization") })
    }

    @Test func `a proxy credential that was refused is not sent again`() async throws {
        let refusal =
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=p\r\nContent-Length: 0\r\n\r\n"
        let known = Recorder<Bool>()
        let proxy = try ScriptedServer.start { _ in
            [
                .answer { request in
                    // It accepts the credential only once.
                    guard request.head.contains("\r\nProxy-Authorization: ") else {
                        return Array(refusal.utf8)
                    }
                    known.record(true)
                    let isFirst = known.values.count == 1
                    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin"
                    return Array((isFirst ? answer : refusal).utf8)
                }, .again,
            ]
        }
        defer { proxy.stop() }
        let session = Session.isolated {
            $0.proxy = .url(proxy.baseURL, except: [])
            $0.urlCredentialStorage = storage(proxy)
        }
        let first = await session.request("http://origin.test/").serializingString().response
        #expect(first.value == "in")
        let second = await session.request("http://origin.test/")
            .serializingData(emptyResponseCodes: [407]).response
        #expect(second.response?.statusCode == 407)
        #expect(known.values.count == 2)
    }

    @Test func `a 407 from a server without a proxy does not affect the proxy's credential`()
        async throws
    {
        let server = try falseProxy()
        defer { server.stop() }
        let proxy = try ScriptedServer.start(.request, .respond(body: "in"), .again)
        defer { proxy.stop() }
        let session = Session.isolated {
            $0.proxy = .url(proxy.baseURL, except: ["127.0.0.1"])
            $0.urlCredentialStorage = storage(proxy)
        }
        let response = await session.request(server.baseURL)
            .serializingData(emptyResponseCodes: [407]).response
        #expect(response.response?.statusCode == 407)
        let other = await session.request("http://origin.test/").serializingString().response
        #expect(other.value == "in")
        #expect(server.requests.count == 1)
        #expect(proxy.requests.values.allSatisfy { !$0.head.contains("Proxy-Authorization") })
    }

    @Test func `a tunnel is opened with the stored credential when a cache is in use`() async throws
    {
        let nginx = try await Nginx.shared()
        let proxy = try ScriptedServer.start { connection in
            connection == 0
                ? [
                    .request,
                    .respond(
                        "407 No",
                        headers: ["Proxy-Authenticate: Basic realm=p", "Connection: close"]),
                ]
                : [
                    .request, .send("HTTP/1.1 200 Connection established\r\n\r\n"),
                    .relay(.loopback(port: nginx.port(.tls))),
                ]
        }
        defer { proxy.stop() }
        let session = Session.isolated {
            $0.proxy = .url(proxy.baseURL, except: ["direct.test"])
            $0.urlCredentialStorage = storage(proxy)
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            $0.urlCache = ResponseCache()
        }
        let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
            .serializingString().response
        #expect(response.value == "small\n")
        #expect(try proxy.requests.values.at(1).head.contains("Proxy-Authorization: Basic "))
    }
}

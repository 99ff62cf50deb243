import FoundationEssentials
import OutletObservation
import Outlet
import OutletTestSupport
import Testing

/// Credentials for real servers.
@Suite struct AuthenticationTests {
    private func session(
        storage: CredentialStorage? = nil, monitors: [any EventMonitor] = []
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        configuration.urlCredentialStorage = storage
        return Session(configuration: configuration, eventMonitors: monitors)
    }

    private func basicSpace(_ port: UInt16, realm: String) -> ProtectionSpace {
        ProtectionSpace(
            host: "127.0.0.1", port: Int(port), protocol: "http", realm: realm,
            authenticationMethod: "basic")
    }

    // MARK: A request's own credential

    @Test(arguments: ["basic-auth", "digest-auth/auth"])
    func `user name and password answer a challenge`(path: String) async throws {
        let httpbin = try await Httpbin.shared()
        let session = session()
        let request = session.request("\(httpbin.baseURL)/\(path)/ada/secret")
            .authenticate(username: "ada", password: "secret")
        let response = await request.serializingString().response
        #expect(response.response?.statusCode == 200)
        #expect(response.error == nil)
    }

    @Test(arguments: ["basic-auth", "digest-auth/auth"])
    func `a wrong password results in the second 401 without an error`(path: String) async throws {
        let httpbin = try await Httpbin.shared()
        let session = session()
        let response = await session.request("\(httpbin.baseURL)/\(path)/ada/secret")
            .authenticate(username: "ada", password: "wrong")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401)
        #expect(response.error == nil)
        #expect(response.data?.isEmpty != false)
    }

    @Test func `each challenge is reported with its number of previous failures`()
        async throws
    {
        let httpbin = try await Httpbin.shared()
        let counts = Recorder<String>()
        let monitor = ClosureEventMonitor()
        monitor.taskDidReceiveChallenge = { _, _, challenge in
            counts.record(
                "\(challenge.protectionSpace.authenticationMethod) \(challenge.previousFailureCount)"
            )
        }
        let finished = Recorder<Int>()
        monitor.requestDidFinish = { _ in finished.record(1) }
        let session = session(monitors: [monitor])
        for (password, status) in [("secret", 200), ("wrong", 401)] {
            let response = await session.request("\(httpbin.baseURL)/basic-auth/ada/secret")
                .authenticate(username: "ada", password: password).serializingData().response
            #expect(response.response?.statusCode == status)
        }
        _ = try await finished.values(2)
        #expect(counts.values == ["basic 0", "basic 0", "basic 1"])
    }

    @Test func `a credential can require one scheme`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond(
                "401 No",
                headers: [
                    "WWW-Authenticate: Basic realm=x", "WWW-Authenticate: Digest realm=x, nonce=n",
                ]),
            .request, .respond(), .again)
        defer { server.stop() }
        for scheme in [AuthenticationScheme.basic, .digest] {
            let credential = Credential(user: "ada", password: "secret", scheme: scheme)
            let session = session()
            let response = await session.request(server.baseURL).authenticate(with: credential)
                .serializingData(emptyResponseCodes: [200]).response
            #expect(response.response?.statusCode == 200)
            let heads = server.requests.values.suffix(2).map(\.head)
            #expect(try !heads.at(0).contains("Authorization"))
            #expect(try heads.at(1).lowercased().contains("authorization: \(scheme.rawValue) "))
        }
    }

    @Test func `of a challenge that demands a hash of the body, another scheme is answered`()
        async throws
    {
        let server = try ScriptedServer.start(
            .request,
            .respond(
                "401 No",
                headers: [
                    "WWW-Authenticate: Digest realm=x, nonce=n, qop=\"auth-int\"",
                    "WWW-Authenticate: Basic realm=x",
                ]),
            .request, .respond(), .again)
        defer { server.stop() }
        let session = session()
        let response = await session.request(server.baseURL, method: .post, parameters: ["a": "b"])
            .authenticate(username: "ada", password: "secret")
            .serializingData(emptyResponseCodes: [200]).response
        #expect(response.response?.statusCode == 200)
        let requests = server.requests.values
        #expect(requests.count == 2)
        #expect(requests.allSatisfy { $0.body == Array("a=b".utf8) })
        #expect(try requests.at(1).head.contains("Authorization: Basic "))
    }

    @Test func `an unsupported challenge does not repeat the request forever`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond(
                "401 No", headers: ["WWW-Authenticate: Digest realm=x, nonce=n, qop=auth-int"]),
            .again)
        defer { server.stop() }
        let session = session()
        let request = session.request(server.baseURL)
            .authenticate(username: "ada", password: "secret")
        let heads = server.requests
        let watchdog = Task {
            _ = try await heads.values(8)
            request.cancel()
        }
        defer { watchdog.cancel() }
        let response = await request.serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401)
        #expect(response.error == nil)
        #expect(server.requests.count == 1)
    }

    @Test func `a bearer token answers a challenge`() async throws {
        let httpbin = try await Httpbin.shared()
        let session = session()
        let response = await session.request("\(httpbin.baseURL)/bearer")
            .authenticate(with: Credential(bearerToken: "t0ken")).serializingString().response
        #expect(response.value?.contains("t0ken") == true)
        let header = await session.request(
            "\(httpbin.baseURL)/bearer", headers: [.authorization(bearerToken: "t0ken")]
        ).serializingString().response
        #expect(header.value?.contains("t0ken") == true)
    }

    @Test func `NTLM sends three requests on one connection`() async throws {
        // A type 2 message without a target: signature, type, flags, challenge.
        let type2: [UInt8] =
            Array("NTLMSSP\0".utf8) + [2, 0, 0, 0] + [0, 0, 0, 0, 40, 0, 0, 0]
            + [0x01, 0x82, 0, 0] + [1, 2, 3, 4, 5, 6, 7, 8] + [UInt8](repeating: 0, count: 8)
        let server = try ScriptedServer.start(
            .request, .respond("401 No", headers: ["WWW-Authenticate: NTLM"]),
            .request,
            .respond(
                "401 No",
                headers: ["WWW-Authenticate: NTLM \(Data(type2).base64EncodedString())"]),
            .request, .respond(body: "in"))
        defer { server.stop() }
        let session = session()
        let response = await session.request(server.baseURL, method: .post)
            .authenticate(with: Credential(user: "D\\ada", password: "secret", scheme: .ntlm))
            .serializingString().response
        #expect(response.value == "in")
        let heads = server.requests.values
        #expect(heads.map(\.connection) == [0, 0, 0])
        #expect(try !heads.at(0).head.contains("Authorization"))
        // "NTLMSSP", 0, and the message's type.
        #expect(try heads.at(1).head.contains("Authorization: NTLM TlRMTVNTUAABAAAA"))
        #expect(try heads.at(2).head.contains("Authorization: NTLM TlRMTVNTUAADAAAA"))
    }

    @Test func `Negotiate without a Kerberos ticket is an error`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond("401 No", headers: ["WWW-Authenticate: Negotiate"]), .again)
        defer { server.stop() }
        let session = session()
        let response = await session.request(server.baseURL)
            .authenticate(with: Credential(user: "", password: "", scheme: .negotiate))
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401)
        #expect(response.error?.transferError?.code == .userAuthenticationRequired)
        #expect(response.error?.transferError?.advice.contains("kinit") == true)
    }

    @Test func `a challenge with Negotiate and Basic is answered with the password`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond(
                "401 No",
                headers: ["WWW-Authenticate: Negotiate", "WWW-Authenticate: Basic realm=x"]),
            .request, .respond(body: "in"))
        defer { server.stop() }
        let session = session()
        let response = await session.request(server.baseURL)
            .authenticate(username: "ada", password: "secret").serializingString().response
        #expect(response.value == "in")
    }

    @Test func `a body is sent again with the credential`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond("401 No", headers: ["WWW-Authenticate: Basic realm=x"]),
            .request, .respond(body: "in"), .again)
        defer { server.stop() }
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "ada", password: "secret"),
            for: basicSpace(server.port, realm: "x"))
        let directory = try TemporaryDirectory()
        let path = try directory.write("from a file", to: "body")
        for own in [true, false] {
            for isFile in [true, false] {
                let session = session(storage: own ? nil : storage)
                let request =
                    isFile
                    ? session.upload(URL(filePath: path), to: server.baseURL)
                    : session.upload(Data("from memory".utf8), to: server.baseURL)
                if own { request.authenticate(username: "ada", password: "secret") }
                let response = await request.serializingString().response
                #expect(response.value == "in")
                let last = server.requests.values.last
                #expect(
                    last.map { String(decoding: $0.body, as: UTF8.self) }
                        == (isFile ? "from a file" : "from memory"))
                #expect(last?.head.contains("Authorization: Basic YWRhOnNlY3JldA==") == true)
            }
        }
    }

    @Test func `a redirect to another origin does not send the credential`() async throws {
        let other = try ScriptedServer.start(
            .request,
            .respond("401 No", headers: ["WWW-Authenticate: Basic realm=x"]), .again)
        defer { other.stop() }
        for own in [true, false] {
            let server = try ScriptedServer.start(
                .request,
                .respond("401 No", headers: ["WWW-Authenticate: Basic realm=x"]),
                .request, .respond("302 There", headers: ["Location: \(other.baseURL)/"]))
            defer { server.stop() }
            let storage = CredentialStorage()
            storage.set(
                Credential(user: "ada", password: "secret"),
                for: basicSpace(server.port, realm: "x"))
            let session = session(storage: own ? nil : storage)
            let request = session.request(server.baseURL)
            if own { request.authenticate(username: "ada", password: "secret") }
            let response = await request.serializingData(emptyResponseCodes: [401]).response
            #expect(response.response?.statusCode == 401)
            #expect(server.requests.values.last?.head.contains("Authorization") == true)
        }
        #expect(other.requests.values.allSatisfy { !$0.head.contains("Authorization") })
        #expect(other.requests.count == 2)
    }

    @Test func `a challenge over HTTP/2 is answered with own or stored credentials`() async throws {
        let nginx = try await Nginx.shared()
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "user", password: "password"),
            for: ProtectionSpace(
                host: "localhost", port: Int(nginx.port(.tls)), protocol: "https",
                realm: "Outlet"))
        for own in [true, false] {
            var configuration = SessionConfiguration()
            configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
            configuration.urlCredentialStorage = own ? nil : storage
            let session = Session(
                configuration: configuration,
                serverTrustManager: ServerTrustManager(
                    evaluators: ["localhost": DefaultTrustEvaluator()]))
            for _ in 0..<2 {
                let request = session.request("\(nginx.baseURL(.tls))/basic")
                if own { request.authenticate(username: "user", password: "password") }
                let response = await request.serializingString().response
                #expect(response.value == "small\n")
                #expect(response.response?.httpVersion == "HTTP/2")
            }
        }
    }

    // MARK: Stored credentials

    @Test(arguments: ["basic", "digest"])
    func `a stored credential answers a challenge of its realm in each request`(scheme: String)
        async throws
    {
        let httpbin = try await Httpbin.shared()
        let storage = CredentialStorage()
        let realm = scheme == "basic" ? "Fake Realm" : "me@kennethreitz.com"
        storage.set(
            Credential(user: "ada", password: "secret"),
            for: ProtectionSpace(
                host: "127.0.0.1", port: Int(httpbin.port), protocol: "http", realm: realm,
                authenticationMethod: scheme))
        let session = session(storage: storage)
        let path = scheme == "basic" ? "basic-auth" : "digest-auth/auth"
        for _ in 0..<3 {
            let response = await session.request("\(httpbin.baseURL)/\(path)/ada/secret")
                .serializingString().response
            #expect(response.response?.statusCode == 200)
        }
    }

    @Test func `a known protection space receives its credential without a challenge`() async throws
    {
        let server = try ScriptedServer.start(
            .request, .respond("401 No", headers: ["WWW-Authenticate: Basic realm=x"]),
            .request, .respond(body: "1"),
            .request, .respond(body: "2"),
            .request, .respond("401 No", headers: ["WWW-Authenticate: Basic realm=y"]))
        defer { server.stop() }
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "ada", password: "secret"), for: basicSpace(server.port, realm: "x"))
        let session = session(storage: storage)
        var texts: [String] = []
        for path in ["/a/1", "/a/b/2"] {
            texts.append(
                try await session.request(server.baseURL + path).serializingString().value)
        }
        #expect(texts == ["1", "2"])
        let outside = await session.request(server.baseURL + "/elsewhere")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(outside.response?.statusCode == 401)
        let credentials = server.requests.values.map { $0.head.contains("Authorization") }
        #expect(credentials == [false, true, true, false])
    }

    @Test func `a stored password that is refused is sent once`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond(
                "401 No", headers: [#"WWW-Authenticate: Digest realm="x", nonce="n", qop="auth""#]),
            .again)
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "ada", password: "wrong"),
            for: ProtectionSpace(
                host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "x",
                authenticationMethod: "digest"))
        let session = session(storage: storage)
        let response = await session.request(server.baseURL)
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401 && response.error == nil)
        let heads = server.requests.values.map(\.head)
        #expect(heads.filter { $0.contains("Authorization") }.count == 1, "\(heads)")
    }

    @Test func `a server with stale nonces gets four requests, then its 401 is the response`()
        async throws
    {
        let challenge = #"WWW-Authenticate: Digest realm="x", nonce="n", qop="auth", stale=true"#
        let server = try ScriptedServer.start { _ in
            [.request, .respond("401 No", headers: [challenge]), .again]
        }
        let session = session()
        let response = await session.request(server.baseURL, method: .post)
            .authenticate(username: "ada", password: "secret")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401 && response.error == nil)
        #expect(server.requests.values.count == 4)
    }

    @Test func `a Digest realm that is not UTF-8 is sent back with its bytes`() async throws {
        let challenge =
            Array("HTTP/1.1 401 No\r\nContent-Length: 0\r\nWWW-Authenticate: Digest realm=\"".utf8)
            + [0xFC] + Array("\", nonce=\"n\", qop=\"auth\"\r\n\r\n".utf8)
        let server = try ScriptedServer.start(
            .request, .send(challenge), .request, .respond(body: "x"))
        let session = session()
        let response = await session.request(server.baseURL)
            .authenticate(username: "ada", password: "secret").serializingString().response
        #expect(response.value == "x")
        // The byte is no UTF-8, so that the test's server does not decode it.
        let head = try server.requests.values.at(1).head
        #expect(head.contains("realm=\"\u{FFFD}\""), "\(head)")
    }

    @Test func `each use of a Digest nonce has its own nonce count`() async throws {
        let challenge = #"WWW-Authenticate: Digest realm="x", nonce="n", qop="auth""#
        let server = try ScriptedServer.start(
            .request, .respond("401 No", headers: [challenge]), .request,
            .respond("302 Found", headers: ["Location: /there?a=b"]), .request,
            .respond(body: "in"))
        let session = session()
        let response = await session.request(server.baseURL)
            .authenticate(username: "ada", password: "secret").serializingString().response
        #expect(response.value == "in")
        let heads = server.requests.values.map(\.head)
        #expect(try heads.at(1).contains("nc=00000001"))
        #expect(try heads.at(2).contains("nc=00000002"))
        #expect(try heads.at(2).contains(#"uri="/there?a=b""#))
    }

    @Test(arguments: [
        ("NTLM", 401), ("NTLM", 407), (#"Digest realm="x", nonce="n", stale=true"#, 407),
    ])
    func `endless challenges end with an error`(challenge: String, status: Int) async throws {
        let field = status == 401 ? "WWW-Authenticate" : "Proxy-Authenticate"
        let server = try ScriptedServer.start { _ in
            let fields = ["\(field): \(challenge)", "Connection: close"]
            return [.request, .respond("\(status) No", headers: fields)]
        }
        var configuration = SessionConfiguration()
        configuration.proxy = status == 401 ? .none : .url(server.baseURL, except: [])
        configuration.proxyCredential = Credential(user: "ada", password: "secret")
        let session = Session(configuration: configuration)
        let request = session.request(
            status == 401 ? server.baseURL : "http://a.test/", method: .post)
        if status == 401 { request.authenticate(username: "ada", password: "secret") }
        let error = await request.serializingData().response.error?.transferError
        withExtendedLifetime(session) {}
        #expect(error?.code == .badServerResponse)
        #expect(
            error?.reason == "the \(status == 401 ? "server" : "proxy") asked for credentials once "
                + "more (\(status)) after 8 answers, and refused none of them")
        // The session has answered the first, with the scheme that is left.
        #expect(server.requests.values.count == (status == 401 ? 10 : 9))
    }

    @Test func `a wrong stored credential results in the second 401`() async throws {
        let httpbin = try await Httpbin.shared()
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "ada", password: "wrong"),
            for: basicSpace(httpbin.port, realm: "Fake Realm"))
        let session = session(storage: storage)
        let response =
            await session
            .request("\(httpbin.baseURL)/basic-auth/ada/secret")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401)
        #expect(response.error == nil)
    }

    @Test func `a stored credential is not sent for another realm, origin or method`() async throws
    {
        let server = try ScriptedServer.start(
            .request, .respond("401 No", headers: ["WWW-Authenticate: Basic realm=x"]), .again)
        defer { server.stop() }
        let storage = CredentialStorage()
        let credential = Credential(user: "ada", password: "secret")
        storage.set(credential, for: basicSpace(server.port, realm: "y"))
        storage.set(credential, for: basicSpace(server.port &+ 1, realm: "x"))
        storage.set(
            credential,
            for: ProtectionSpace(
                host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "x",
                authenticationMethod: "digest"))
        let session = session(storage: storage)
        let response = await session.request(server.baseURL)
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401)
        #expect(server.requests.count == 1)
    }

    @Test func `a credential is stored for the session if its persistence is forSession`()
        async throws
    {
        let httpbin = try await Httpbin.shared()
        let url = "\(httpbin.baseURL)/basic-auth/ada/secret"
        for persistence in [Credential.Persistence.none, .forSession] {
            let storage = CredentialStorage()
            let session = session(storage: storage)
            let first = await session.request(url)
                .authenticate(username: "ada", password: "secret", persistence: persistence)
                .serializingData().response
            #expect(first.response?.statusCode == 200)
            let second = await session.request(url).serializingData(emptyResponseCodes: [401])
                .response
            #expect(second.response?.statusCode == (persistence == .none ? 401 : 200))
        }
    }

    @Test func `a wrong credential is not stored`() async throws {
        let httpbin = try await Httpbin.shared()
        let storage = CredentialStorage()
        let session = session(storage: storage)
        let response =
            await session
            .request("\(httpbin.baseURL)/basic-auth/ada/secret")
            .authenticate(username: "ada", password: "wrong")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test func `streams and downloads receive only the final response`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond(
                "401 No", headers: ["WWW-Authenticate: Basic realm=x"], body: "go away"),
            .request, .respond(body: "in"), .again)
        defer { server.stop() }
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "ada", password: "secret"), for: basicSpace(server.port, realm: "x"))
        let session = session(storage: storage)
        let download = await session.download(server.baseURL)
            .serializingString().response
        download.removeFiles()
        #expect(download.value == "in")
        let text = Recorder<String>()
        // Another one, which does not know yet that the server asks.
        let streaming = self.session(storage: storage)
        for await piece in streaming.streamRequest(server.baseURL).streamTask()
            .streamingStrings()
        {
            if let value = piece.value { text.record(value) }
        }
        #expect(text.values.joined() == "in")
    }
}

import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletObservation
@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

/// Tests stored credentials against a stub that answers with a challenge.
@Suite(.timeLimit(.minutes(patience))) struct StoredCredentialTests {
    private let storage = CredentialStorage()
    private let challenge = StubAnswer.status(
        401, headers: ["WWW-Authenticate": #"Basic realm="x""#])

    init() {
        for host in ["a.test", "b.test"] {
            storage.set(
                Credential(user: "ada", password: "for \(host)"),
                for: ProtectionSpace(
                    host: host, port: 443, protocol: "https", realm: "x",
                    authenticationMethod: "basic"))
        }
    }

    private func session(
        _ transport: StubTransport, interceptor: (any RequestInterceptor)? = nil,
        monitors: [any EventMonitor] = []
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.urlCredentialStorage = storage
        return Session(
            transport: transport, configuration: configuration, interceptor: interceptor,
            eventMonitors: monitors)
    }

    private func passwords(_ transport: StubTransport) -> [String?] {
        transport.jobs.map { $0.credential?.password }
    }

    @Test
    func `a challenged request is sent again with the stored credential in the same transfer`()
        async throws
    {
        let transport = StubTransport(answers: [challenge, .text("in")])
        let session = session(transport)
        let request = session.request("https://a.test/")
        let response = await request.serializingString().response
        #expect(response.value == "in")
        #expect(passwords(transport) == [nil, "for a.test"])
        #expect(try transport.jobs.at(1).credential?.scheme == .basic)
        #expect(try transport.jobs.at(1).credentialUse == .atOnce)
        #expect(request.tasks.count == 1)
        #expect(request.performedRequests.count == 2)
        #expect(request.retryCount == 0)
    }

    @Test func `a stream is rewound before it is sent again`() async {
        let transport = StubTransport(answers: [challenge, .text("in")])
        let session = session(transport)
        let stream = TestStream("stream")
        let response = await session.upload(stream, to: "https://a.test/").serializingString()
            .response
        #expect(response.value == "in")
        #expect(
            transport.bodies.map { String(decoding: $0, as: UTF8.self) } == ["stream", "stream"])
        #expect(stream.rewinds == 1)
    }

    @Test func `a stream that cannot be rewound ends the request with an error`() async {
        let transport = StubTransport(answers: [challenge, .text("in")])
        let session = session(transport)
        let stream = TestStream("stream", canRewind: false)
        let response = await session.upload(stream, to: "https://a.test/").serializingString()
            .response
        #expect(response.error?.transferError?.code == .requestBodyStreamExhausted)
        #expect(transport.jobs.count == 1)
    }

    @Test func `each origin gets its own credential, also after redirects`() async {
        let transport = StubTransport { job in
            let host = job.request.url?.host() ?? ""
            guard job.credential?.password == "for \(host)" else {
                return .status(401, headers: ["WWW-Authenticate": #"Basic realm="x""#])
            }
            return host == "a.test" ? .redirect(to: "https://b.test/") : .text("in")
        }
        let session = session(transport)
        let response = await session.request("https://a.test/").serializingString().response
        #expect(response.value == "in")
        #expect(passwords(transport) == [nil, "for a.test", nil, "for b.test"])
        _ = await session.request("https://a.test/").serializingString().response
        #expect(passwords(transport).suffix(2) == ["for a.test", "for b.test"])
    }

    @Test func `a stored credential does not replace the request's own field or credential`() async
    {
        let transport = StubTransport(answers: [challenge])
        let session = session(transport)
        let field = await session.request(
            "https://a.test/", headers: [.authorization(bearerToken: "t")]
        ).serializingData(emptyResponseCodes: [401]).response
        #expect(field.response?.statusCode == 401)
        let own = await session.request("https://a.test/")
            .authenticate(username: "bob", password: "own")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(own.response?.statusCode == 401)
        #expect(passwords(transport) == [nil, "own", "own"])
        #expect(transport.jobs.map(\.credentialUse) == [.onChallenge, .identifiesOnly, .atOnce])
    }

    @Test func `an accepted stored credential does not replace a later request's own field`() async
    {
        let transport = StubTransport(answers: [challenge, .text("in")])
        let session = session(transport)
        _ = await session.request("https://a.test/").serializingString().response
        let field = await session.request(
            "https://a.test/", headers: [.authorization(bearerToken: "t")]
        ).serializingString().response
        #expect(field.value == "in")
        #expect(passwords(transport) == [nil, "for a.test", nil])
        #expect(transport.requests.last?.headers["Authorization"] == "Bearer t")
        withExtendedLifetime(session) {}
    }

    @Test func `a removed credential is not sent`() async {
        let transport = StubTransport { job in
            job.credential == nil
                ? .status(401, headers: ["WWW-Authenticate": #"Basic realm="x""#]) : .text("in")
        }
        let session = session(transport)
        _ = await session.request("https://a.test/").serializingString().response
        for (space, credentials) in storage.allCredentials {
            for credential in credentials.values { storage.remove(credential, for: space) }
        }
        let response = await session.request("https://a.test/")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401)
        #expect(passwords(transport) == [nil, "for a.test", nil])
    }

    @Test func `a refused credential is sent once per request, and never before a challenge`()
        async throws
    {
        let transport = StubTransport(answers: [challenge])
        let counts = Recorder<Int>()
        let monitor = ClosureEventMonitor()
        monitor.taskDidReceiveChallenge = { _, _, challenge in
            counts.record(challenge.previousFailureCount)
        }
        let session = session(transport, monitors: [monitor])
        for _ in 0..<2 {
            let response = await session.request("https://a.test/")
                .serializingData(emptyResponseCodes: [401]).response
            #expect(response.response?.statusCode == 401)
            #expect(response.error == nil)
        }
        #expect(passwords(transport) == [nil, "for a.test", nil, "for a.test"])
        #expect(try await counts.values(4) == [0, 1, 0, 1])
    }

    @Test func `a credential that is refused later is not sent before a challenge any more`()
        async throws
    {
        let transport = StubTransport(answers: [challenge, .text("in"), challenge])
        let counts = Recorder<Int>()
        let monitor = ClosureEventMonitor()
        monitor.taskDidReceiveChallenge = { _, _, challenge in
            counts.record(challenge.previousFailureCount)
        }
        let session = session(transport, monitors: [monitor])
        for _ in 0..<3 {
            _ = await session.request("https://a.test/").serializingData(emptyResponseCodes: [401])
                .response
        }
        #expect(
            passwords(transport)
                == [nil, "for a.test", "for a.test", nil, "for a.test"])
        #expect(try await counts.values(4) == [0, 1, 0, 1])
    }

    @Test(
        arguments: [
            (#"Digest realm="x", nonce="n", algorithm=FOO"#, false),
            (#"Digest realm="x""#, false), (#"Digest realm="x", nonce="""#, false),
            (#"Digest realm="x", nonce="n", qop="foo""#, false),
            (#"Digest realm="x", nonce="n", qop="foo, auth", algorithm=SHA-256-sess"#, true),
            (#"Digest realm="x", nonce="n""#, true),
        ])
    func `an unsupported Digest challenge is not answered`(
        challenge: String, isAnswered: Bool
    ) async {
        storage.set(
            Credential(user: "ada", password: "secret"),
            for: ProtectionSpace(
                host: "a.test", port: 443, protocol: "https", realm: "x",
                authenticationMethod: "digest"))
        let transport = StubTransport(answers: [
            .status(401, headers: ["WWW-Authenticate": challenge])
        ])
        let session = session(transport)
        let response = await session.request("https://a.test/")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401)
        #expect(transport.jobs.count == (isAnswered ? 2 : 1))
    }

    @Test func `a request with endlessly changing realms ends at the limit`() async {
        let transport = StubTransport { job in
            let number = job.credential.flatMap { Int($0.password) } ?? 0
            return .status(401, headers: ["WWW-Authenticate": "Basic realm=\"\(number + 1)\""])
        }
        for number in 1...20 {
            storage.set(
                Credential(user: "ada", password: "\(number)"),
                for: ProtectionSpace(
                    host: "a.test", port: 443, protocol: "https", realm: "\(number)",
                    authenticationMethod: "basic"))
        }
        let session = session(transport)
        let response = await session.request("https://a.test/")
            .serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401)
        #expect(transport.jobs.count == AuthenticationRound.limit)
    }

    @Test func `a retry sends the accepted credential`() async {
        let transport = StubTransport(answers: [challenge, .status(503), .text("in")])
        let session = session(transport, interceptor: RetryPolicy(exponentialBackoffScale: 0))
        let response = await session.request("https://a.test/").validate().serializingString()
            .response
        #expect(response.value == "in")
        #expect(passwords(transport) == [nil, "for a.test", "for a.test"])
    }

    @Test func `a request that is cancelled during authentication ends as cancelled`() async {
        let transport = StubTransport(answers: [challenge, .silence])
        let session = session(transport)
        let request = session.request("https://a.test/")
        let task = request.serializingData()
        while transport.jobs.count < 2, !Task.isCancelled { await Task.yield() }
        request.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
    }

    @Test func `the protection space of a proxy's challenge is the proxy`() async throws {
        let spaces = Recorder<ProtectionSpace>()
        let monitor = ClosureEventMonitor()
        monitor.taskDidReceiveChallenge = { _, _, challenge in
            spaces.record(challenge.protectionSpace)
        }
        var configuration = SessionConfiguration()
        configuration.proxy = .url("http://me:secret@Proxy.test:3128", except: [])
        let session = Session(
            transport: StubTransport(answers: [
                .status(407, headers: ["Proxy-Authenticate": "Basic realm=p"])
            ]), configuration: configuration, eventMonitors: [monitor])
        _ = await session.request("http://a.test/").serializingData().response
        #expect(
            try await spaces.values(1) == [
                ProtectionSpace(
                    host: "proxy.test", port: 3128, protocol: "http", realm: "p",
                    authenticationMethod: "basic", isProxy: true)
            ])
    }

    @Test func `a retry after a refused credential begins without a credential`() async {
        let transport = StubTransport(answers: Array(repeating: challenge, count: 4))
        let session = session(
            transport,
            interceptor: RetryPolicy(
                retryLimit: 1, exponentialBackoffScale: 0, retryableHTTPStatusCodes: [401]))
        let response = await session.request("https://a.test/").validate().serializingData()
            .response
        #expect(response.response?.statusCode == 401)
        #expect(passwords(transport) == [nil, "for a.test", nil, "for a.test"])
    }

    @Test(arguments: ["Bearer", "Negotiate"])
    func `a user and password do not answer a Bearer or Negotiate challenge`(scheme: String) async {
        let transport = StubTransport(answers: [
            .status(401, headers: ["WWW-Authenticate": #"\#(scheme) realm="x""#]), .text("in"),
        ])
        storage.set(
            Credential(user: "ada", password: "pw"),
            for: ProtectionSpace(host: "a.test", port: 443, protocol: "https", realm: "x"))
        let session = session(transport)
        let response = await session.request("https://a.test/").serializingData().response
        #expect(response.response?.statusCode == 401)
        #expect(passwords(transport) == [nil])
    }
}

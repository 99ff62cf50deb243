import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletSession
import OutletTesting
import OutletTransport
import Testing

/// Tests cookies, limits and bodies over redirects, authentication challenges and retries.
@Suite struct HopTests {
    private func session(
        _ answers: [StubAnswer], interceptor: (any RequestInterceptor)? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> (Session, StubTransport) {
        let transport = StubTransport(answers: answers)
        let storage = CredentialStorage()
        storage.set(
            Credential(user: "ada", password: "pw"),
            for: ProtectionSpace(host: "a.test", port: 80, protocol: "http", realm: "x"))
        var configuration = SessionConfiguration()
        configuration.urlCredentialStorage = storage
        change(&configuration)
        return (
            Session(
                transport: transport, configuration: configuration, interceptor: interceptor),
            transport
        )
    }

    private func challenge(_ cookie: String) -> StubAnswer {
        .status(
            401, headers: ["WWW-Authenticate": #"Basic realm="x""#, "Set-Cookie": cookie])
    }

    private func setting(_ cookie: String) -> StubAnswer {
        .status(200, headers: ["Set-Cookie": cookie])
    }

    private func cookies(_ transport: StubTransport) -> [String?] {
        transport.requests.map { $0.headers["Cookie"] }
    }

    @Test func `cookies of a challenge are sent with the authenticated request`() async {
        let (session, transport) = session([setting("a=1"), challenge("a=2"), .text("in")])
        _ = await session.request("http://a.test/").serializingData().response
        let response = await session.request("http://a.test/").serializingString().response
        #expect(response.value == "in")
        #expect(cookies(transport) == [nil, "a=1", "a=2"])
    }

    @Test func `a cookie that a challenge deletes is not sent`() async {
        let (session, transport) = session([
            setting("a=1"), challenge("a=; Max-Age=0"), .text("in"),
        ])
        _ = await session.request("http://a.test/").serializingData().response
        _ = await session.request("http://a.test/", headers: ["Cookie": "own=0"])
            .serializingString().response
        #expect(cookies(transport) == [nil, "own=0; a=1", "own=0"])
    }

    @Test func `after a challenge a redirect sends each host only its own cookies`() async {
        let (session, transport) = session([
            setting("a=1"), challenge("c=1"), .redirect(to: "/2"),
            .redirect(to: "http://b.test/"), .text("there"),
        ])
        _ = await session.request("http://a.test/").serializingData().response
        let response = await session.request("http://a.test/").serializingString().response
        #expect(response.value == "there")
        #expect(cookies(transport) == [nil, "a=1", "a=1; c=1", "a=1; c=1", nil])
    }

    @Test func `after a proxy's challenge a redirect sends each host only its own cookies`() async {
        let proxy = "http://proxy.test:3128"
        let (session, transport) = session([
            setting("a=1"),
            .status(
                407,
                headers: ["Proxy-Authenticate": #"Basic realm="p""#, "Set-Cookie": "a=2"]),
            .redirect(to: "http://b.test/"), .text("there"),
        ]) { configuration in
            configuration.proxy = .url(proxy, except: [])
            configuration.urlCredentialStorage?.set(
                Credential(user: "ada", password: "pw"),
                for: ProtectionSpace(
                    host: "proxy.test", port: 3128, protocol: "http", realm: "p", isProxy: true))
        }
        _ = await session.request("http://a.test/").serializingData().response
        let response = await session.request("http://a.test/").serializingString().response
        #expect(response.value == "there")
        #expect(cookies(transport) == [nil, "a=1", "a=2", nil])
    }

    @Test func `the maximum number of redirects applies to each attempt`() async {
        let round: [StubAnswer] = [
            .redirect(to: "http://a.test/2"), .redirect(to: "http://a.test/3"),
        ]
        let (session, transport) = session(
            round + [.status(503)] + round + [.text("in")],
            interceptor: RetryPolicy(exponentialBackoffScale: 0)
        ) { $0.maximumRedirects = 2 }
        let request = session.request("http://a.test/1").validate()
        let response = await request.serializingString().response
        #expect(response.value == "in")
        #expect(request.retryCount == 1)
        #expect(request.allMetrics.map(\.redirectCount) == [2, 2])
        #expect(transport.requests.count == 6)
    }

    @Test func `one redirect above the maximum ends the request with an error`() async {
        let (session, transport) = session([
            .redirect(to: "/2"), .redirect(to: "/3"), .redirect(to: "/4"), .text("in"),
        ]) { $0.maximumRedirects = 2 }
        let response = await session.request("http://a.test/1").serializingString().response
        #expect(response.error?.transferError?.code == .httpTooManyRedirects)
        #expect(transport.requests.count == 3)
    }

    @Test func `a body is redirected from https to http only if the session allows it`() async {
        for allows in [false, true] {
            let (session, transport) = session([.redirect(307, to: "http://a.test/"), .text("in")])
            {
                $0.allowsInsecureRedirectsWithBodies = allows
            }
            let response = await session.request(
                "https://a.test/", method: .post, parameters: ["a": "geheim"]
            ).serializingString().response
            #expect((response.value == "in") == allows)
            #expect(transport.requests.count == (allows ? 2 : 1))
        }
    }

    @Test func `a body follows a redirect to http if HSTS upgrades it`() async {
        let hsts = HSTSStorage.memory
        hsts.setPolicy(.init(host: "a.test", expiresDate: .distantFuture))
        let (session, transport) = session([.redirect(307, to: "http://a.test/2"), .text("in")]) {
            $0.hsts = hsts
        }
        let response = await session.request(
            "https://a.test/", method: .post, parameters: ["a": "geheim"],
            headers: ["Authorization": "Bearer t"]
        ).serializingString().response
        #expect(response.value == "in")
        #expect(transport.requests.last?.url?.absoluteString == "https://a.test/2")
        // The origin is the same after the host's HSTS policy is applied.
        #expect(transport.requests.last?.headers["Authorization"] == "Bearer t")
    }
}

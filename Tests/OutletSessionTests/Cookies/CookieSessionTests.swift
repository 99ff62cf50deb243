import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletLayers
import OutletSession
import OutletTesting
import OutletTransport
import Testing

/// Tests sessions with cookies, redirect by redirect.
@Suite struct CookieSessionTests {
    private func session(
        _ table: [String: StubAnswer],
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> (Session, StubTransport) {
        let transport = StubTransport {
            table[$0.request.url?.absoluteString ?? ""] ?? .status(404)
        }
        var configuration = SessionConfiguration()
        change(&configuration)
        return (Session(transport: transport, configuration: configuration), transport)
    }

    private func setting(_ cookies: String..., answer: StubAnswer = .text("x")) -> StubAnswer {
        var answer = answer
        for cookie in cookies { answer.headers.append(name: "Set-Cookie", value: cookie) }
        return answer
    }

    private func get(_ session: Session, _ url: String, _ headers: HTTPHeaders? = nil) async {
        _ = await session.request(url, headers: headers).serializingUnserialized().response
    }

    private func cookies(_ transport: StubTransport) -> [String?] {
        transport.requests.map { $0.headers["Cookie"] }
    }

    @Test(arguments: [true, false])
    func `cookies are sent to the host that set them, with and without a cache`(hasCache: Bool)
        async
    {
        let (session, transport) = session(
            ["http://a.test/1": setting("a=1", "b=2; Path=/deep")]
        ) { if hasCache { $0.urlCache = ResponseCache() } }
        await get(session, "http://a.test/1")
        await get(session, "http://a.test/deep/er")
        await get(session, "http://b.test/")
        #expect(cookies(transport) == [nil, "b=2; a=1", nil])
    }

    @Test func `cookies of stored responses are not set again, those of validations are`() async {
        let requests = Lock(0)
        let transport = StubTransport { _ in
            let number = requests.withLock { requests in
                requests += 1
                return requests
            }
            var answer = number == 1 ? StubAnswer.text("x") : .status(304)
            answer.headers.append(name: "Set-Cookie", value: "n=\(number)")
            answer.headers.append(name: "Cache-Control", value: "max-age=60")
            answer.headers.append(name: "ETag", value: "\"1\"")
            return answer
        }
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        let storage = CookieStorage()
        configuration.httpCookieStorage = storage
        // Otherwise the cookie would select another response.
        configuration.httpShouldSetCookies = false
        let session = Session(transport: transport, configuration: configuration)
        func pairs(after policy: HTTPRequest.CachePolicy) async -> [String] {
            let request = HTTPRequest(url: URL(string: "http://a.test/"), cachePolicy: policy)
            let response = await session.request(request).serializingData().response
            #expect(response.value == Data("x".utf8))
            return storage.cookies.map { "\($0.name)=\($0.value)" }
        }
        #expect(await pairs(after: .useProtocolCachePolicy) == ["n=1"])
        for cookie in storage.cookies { storage.deleteCookie(cookie) }
        #expect(await pairs(after: .useProtocolCachePolicy) == [])
        #expect(await pairs(after: .reloadRevalidatingCacheData) == ["n=2"])
        #expect(requests.withLock { $0 } == 2)
    }

    @Test func `each hop of a redirect sends its host's cookies, including new ones`()
        async
    {
        let (session, transport) = session([
            "http://a.test/login": setting("id=1; Path=/", answer: .redirect(to: "/home")),
            "http://a.test/home": setting("id=2; Path=/", answer: .redirect(to: "http://b.test/")),
            "http://b.test/": setting("b=1", answer: .redirect(to: "http://a.test/end")),
        ])
        await get(session, "http://a.test/login", ["Cookie": "own=0"])
        #expect(cookies(transport) == ["own=0", "own=0; id=1", nil, "id=2"])
    }

    @Test func `a request's own Cookie field is first and overrides stored cookies`() async {
        let (session, transport) = session(["http://a.test/": setting("a=1", "b=2")])
        await get(session, "http://a.test/")
        await get(session, "http://a.test/", ["Cookie": "b=own; c=3"])
        #expect(cookies(transport).last == "b=own; c=3; a=1")
    }

    @Test func `cookies can be disabled for a session and for a request`() async {
        let table = ["http://a.test/": setting("a=1")]
        let (without, first) = session(table) { $0.httpCookieStorage = nil }
        let (silent, second) = session(table) { $0.httpShouldSetCookies = false }
        let (deaf, third) = session(table) { $0.httpCookieAcceptPolicy = .never }
        for session in [without, silent, deaf] {
            await get(session, "http://a.test/")
            await get(session, "http://a.test/")
        }
        for transport in [first, second, third] { #expect(cookies(transport) == [nil, nil]) }
        #expect(silent.sessionConfiguration.httpCookieStorage?.cookies.count == 1)
        #expect(deaf.sessionConfiguration.httpCookieStorage?.cookies.isEmpty == true)
        let (session, transport) = session(table)
        await get(session, "http://a.test/")
        var request = HTTPRequest(url: URL(string: "http://a.test/"))
        request.httpShouldHandleCookies = false
        _ = await session.request(request).serializingUnserialized().response
        #expect(cookies(transport) == [nil, nil])
        session.sessionConfiguration.httpCookieStorage?.removeCookies(since: .distantPast)
        _ = await session.request(request).serializingUnserialized().response
        #expect(session.sessionConfiguration.httpCookieStorage?.cookies.isEmpty == true)
    }

    @Test func `onlyFromMainDocumentDomain refuses cookies of other sites after a redirect`() async
    {
        let (session, _) = session([
            "http://www.a.test/": setting("w=1", answer: .redirect(to: "http://api.a.test/")),
            "http://api.a.test/": setting("p=1", answer: .redirect(to: "http://b.test/")),
            "http://b.test/": setting("b=1"),
        ]) { $0.httpCookieAcceptPolicy = .onlyFromMainDocumentDomain }
        await get(session, "http://www.a.test/")
        let names = session.sessionConfiguration.httpCookieStorage?.cookies.map(\.name)
        #expect(names.map(Set.init) == ["w", "p"])
    }

    @Test func `a cached response does not set its cookies again`() async throws {
        var answer = setting("a=1")
        answer.headers["Cache-Control"] = "max-age=60"
        let (session, transport) = session(["http://a.test/": answer]) {
            $0.urlCache = ResponseCache()
        }
        await get(session, "http://a.test/")
        let storage = try #require(session.sessionConfiguration.httpCookieStorage)
        storage.removeCookies(since: .distantPast)
        await get(session, "http://a.test/")
        #expect(transport.requests.count == 1)
        #expect(storage.cookies.isEmpty)
    }

    @Test func `the curl command has the cookies, redacted by default`() async {
        let (session, _) = session(["http://a.test/": setting("a=secret")])
        await get(session, "http://a.test/")
        let request = session.request("http://a.test/")
        _ = await request.serializingUnserialized().response
        #expect(request.cURLDescription(redactingSecrets: false).contains("-b 'a=secret'"))
        #expect(!request.cURLDescription().contains("secret"))
    }

    @Test func `sessions of different configurations do not share cookies`() async {
        let (one, _) = session(["http://a.test/": setting("a=1")])
        let (other, transport) = session([:])
        await get(one, "http://a.test/")
        await get(other, "http://a.test/")
        #expect(cookies(transport) == [nil])
    }
}

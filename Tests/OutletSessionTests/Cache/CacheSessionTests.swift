import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletTestSupport
import OutletTesting
import Synchronization
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Tests sessions with a cache, on a stub transport.
@Suite(.timeLimit(.minutes(patience))) struct CacheSessionTests {
    let address = "http://a.test/x"

    private func session(
        _ cache: ResponseCache? = ResponseCache(),
        policy: HTTPRequest.CachePolicy = .useProtocolCachePolicy,
        handler: (any CachedResponseHandler)? = nil, monitors: [any EventMonitor] = [],
        _ answer: @escaping StubTransport.Responder
    ) -> (Session, StubTransport) {
        let transport = StubTransport(answer)
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        configuration.requestCachePolicy = policy
        return (
            Session(
                transport: transport, configuration: configuration, cachedResponseHandler: handler,
                eventMonitors: monitors), transport
        )
    }

    private static func answer(_ fields: HTTPHeaders, _ text: String = "body") -> StubAnswer {
        StubAnswer(headers: fields, body: Data(text.utf8))
    }

    /// The fields of a response that is used and validated in the background.
    private static let staleFields: HTTPHeaders = [
        "Cache-Control": "max-age=0, stale-while-revalidate=60", "ETag": "\"1\"",
    ]

    private func get(
        _ session: Session, policy: HTTPRequest.CachePolicy = .useProtocolCachePolicy,
        headers: HTTPHeaders = [:]
    ) async -> DataResponse<Data, SessionError> {
        await session.request(
            HTTPRequest(url: URL(string: address), headers: headers, cachePolicy: policy)
        ).serializingData().response
    }

    @Test(arguments: ["identity", "gzip"])
    func `a body in a coding answers only requests that decode as the first one did`(
        first: String
    ) async {
        let (session, transport) = session { job in
            Self.answer(["Cache-Control": "max-age=60", "Content-Encoding": "gzip"])
        }
        let second = first == "gzip" ? "identity" : "gzip"
        for accepted in [first, first, second, first] {
            _ = await get(session, headers: ["Accept-Encoding": accepted])
        }
        let sent = transport.requests.map { $0.headers["Accept-Encoding"] }
        #expect(Array(sent.prefix(2)) == [first, second])
    }

    @Test func `a no-store response removes the stored response`() async {
        let cache = ResponseCache()
        let isStored = Lock(true)
        let (session, transport) = session(cache) { _ in
            Self.answer(["Cache-Control": isStored.withLock { $0 } ? "max-age=0" : "no-store"])
        }
        let request = HTTPRequest(url: URL(string: address))
        _ = await get(session)
        #expect(cache.cachedResponse(for: request) != nil)
        isStored.withLock { $0 = false }
        _ = await get(session)
        #expect(cache.cachedResponse(for: request) == nil)
        #expect(transport.requests.count == 2)
    }

    // MARK: The matrix of directives and policies

    static let directives = [
        "public", "private", "max-age=3600", "max-age=0", "no-cache", "no-store",
    ]

    @Test(
        arguments: [
            (HTTPRequest.CachePolicy.useProtocolCachePolicy, ["max-age=3600"]),
            (.reloadIgnoringLocalCacheData, []), (.reloadIgnoringLocalAndRemoteCacheData, []),
            (.reloadRevalidatingCacheData, []),
            (.returnCacheDataElseLoad, directives.dropLast()),
            (.returnCacheDataDontLoad, directives.dropLast()),
        ], directives)
    func `the cache policy decides whether a stored response is used`(
        row: (policy: HTTPRequest.CachePolicy, answering: [String]), directive: String
    ) async {
        let cache = ResponseCache()
        let (session, transport) = session(cache) { job in
            Self.answer(["Cache-Control": directive], "\(job.request.cachePolicy)")
        }
        #expect(await get(session).error == nil)
        #expect(
            (cache.cachedResponse(for: HTTPRequest(url: URL(string: address))) != nil)
                == (directive != "no-store"))
        let second = await get(session, policy: row.policy)
        let isHit = row.answering.contains(directive)
        if row.policy == .returnCacheDataDontLoad, !isHit {
            #expect(second.response == nil)
            #expect(second.error?.transferError?.code == .resourceUnavailable)
            #expect(transport.requests.count == 1)
            return
        }
        #expect(second.error == nil)
        #expect(transport.requests.count == (isHit ? 1 : 2))
        #expect(second.metrics?.resourceFetchType == (isHit ? .localCache : .networkLoad))
        #expect(second.value == Data("\(isHit ? .useProtocolCachePolicy : row.policy)".utf8))
    }

    @Test func `the session's cache policy is used for requests without one`() async {
        let (session, transport) = session(policy: .returnCacheDataElseLoad) { _ in
            Self.answer(["Cache-Control": "no-cache"])
        }
        _ = await get(session)
        #expect(await get(session).metrics?.resourceFetchType == .localCache)
        #expect(await get(session, policy: .reloadIgnoringLocalCacheData).error == nil)
        #expect(transport.requests.count == 2)
    }

    @Test func `reloadIgnoringLocalAndRemoteCacheData sends no-cache`() async {
        let (session, transport) = session { _ in .text("x") }
        _ = await get(session, policy: .reloadIgnoringLocalAndRemoteCacheData)
        #expect(transport.requests.first?.headers["Cache-Control"] == "no-cache")
    }

    @Test func `without a cache every request is sent`() async {
        let (session, transport) = session(nil) { _ in
            Self.answer(["Cache-Control": "max-age=60"])
        }
        _ = await get(session)
        _ = await get(session)
        #expect(transport.requests.count == 2)
    }

    // MARK: Validation

    @Test func `a stale response is validated, and a 304 returns the stored body`() async {
        let (session, transport) = session { job in
            guard job.request.headers["If-None-Match"] == "\"1\"" else {
                return Self.answer(["ETag": "\"1\"", "X": "old"])
            }
            return .status(304, headers: ["X": "new"])
        }
        _ = await get(session)
        let second = await get(session)
        #expect(second.value == Data("body".utf8))
        #expect(second.response?.statusCode == 200)
        #expect(second.response?.headers["X"] == "new")
        #expect(second.metrics?.resourceFetchType == .validatedCache)
        #expect(transport.requests.count == 2)
        #expect(await get(session).response?.headers["X"] == "new")
    }

    @Test func `a 304 with another entity tag makes the session send the request again`() async {
        let (session, transport) = session { job in
            job.request.headers["If-None-Match"] == nil
                ? Self.answer(["ETag": "\"1\""]) : .status(304, headers: ["ETag": "\"2\""])
        }
        _ = await get(session)
        let second = await get(session)
        #expect(second.response?.statusCode == 200)
        #expect(second.value == Data("body".utf8))
        #expect(transport.requests.count == 3)
    }

    @Test(
        arguments: [
            HTTPHeaders(["Cache-Control": "max-age=100, no-store"]),
            ["Cache-Control": "max-age=100", "Vary": "*"],
            ["Cache-Control": "max-age=100", "Vary": "X-Own"],
        ], [HTTPMethod.get, .head])
    func `a 304 or HEAD response that forbids storing removes the stored response`(
        fields: HTTPHeaders, method: HTTPMethod
    ) async {
        let (session, transport) = session { job in
            if job.request.method == .head {
                var known = fields
                known.add(name: "ETag", value: "\"1\"")
                return StubAnswer(headers: known)
            }
            return job.request.headers["If-None-Match"] == nil
                ? Self.answer(["ETag": "\"1\""]) : .status(304, headers: fields)
        }
        _ = await get(session)
        let renewing = HTTPRequest(
            url: URL(string: address), method: method, headers: ["X-Own": "1"])
        #expect(await session.request(renewing).serializingUnserialized().response.error == nil)
        #expect(transport.requests.count == 2)
        let third = await get(session)
        #expect(third.value == Data("body".utf8) && transport.requests.count == 3)
        #expect(transport.requests.last?.headers["If-None-Match"] == nil)
    }

    @Test func `a background validation with no-store removes the stored response`() async throws {
        let cache = ResponseCache()
        let (session, _) = session(cache) { job in
            job.request.headers["If-None-Match"] == nil
                ? Self.answer(Self.staleFields)
                : .status(304, headers: ["Cache-Control": "no-store"])
        }
        _ = await get(session)
        let request = HTTPRequest(url: URL(string: address))
        #expect(cache.cachedResponse(for: request) != nil)
        #expect(await get(session).metrics?.resourceFetchType == .localCache)
        while cache.cachedResponse(for: request) != nil, !Task.isCancelled { await Task.yield() }
    }

    @Test func `a session shares cached responses only with sessions of the same address policy`()
        async throws
    {
        let cache = ResponseCache()
        var limited = AddressPolicy.publicOnly
        limited.isEnforcedByProxy = true
        let policies = [
            .any, .publicOnly, limited, try AddressPolicy(.any, denying: ["10.0.0.0/8"]),
        ]
        var transports: [StubTransport] = []
        for policy in policies + policies {
            var configuration = SessionConfiguration()
            configuration.urlCache = cache
            configuration.addressPolicy = policy
            let transport = StubTransport { _ in
                Self.answer(["Cache-Control": "max-age=60, public"])
            }
            let session = Session(transport: transport, configuration: configuration)
            #expect(await get(session).error == nil)
            transports.append(transport)
        }
        #expect(transports.map(\.requests.count) == [1, 1, 1, 1, 0, 0, 0, 0])
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        configuration.unixSocketPath = "/run/x"
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport, configuration: configuration)
        #expect(await get(session).value == Data("x".utf8))
    }

    @Test func `a 304 to the request's own condition is the response`() async {
        let (session, _) = session { job in
            job.request.headers["If-None-Match"] == nil
                ? Self.answer(["ETag": "\"1\""]) : .status(304)
        }
        _ = await get(session)
        let response = await get(session, headers: ["If-None-Match": "\"1\""])
        #expect(response.response?.statusCode == 304)
    }

    @Test func `a stale-if-error response replaces failures`() async {
        let answers: [StubAnswer] = [
            Self.answer(["Cache-Control": "max-age=0, stale-if-error=60"]),
            .text("down", statusCode: 503), .failure(TransferErrors.lost),
            .text("gone", statusCode: 404),
        ]
        let transport = StubTransport(answers: answers)
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        let session = Session(transport: transport, configuration: configuration)
        _ = await get(session)
        for _ in 0..<2 {
            let response = await get(session)
            #expect(response.value == Data("body".utf8))
            #expect(response.response?.statusCode == 200)
            #expect(response.metrics?.resourceFetchType == .localCache)
        }
        #expect(await get(session).response?.statusCode == 404)
        #expect(transport.requests.count == 4)
    }

    @Test
    func `a stale-while-revalidate response is returned at once and validated in the background`()
        async throws
    {
        let asked = Recorder<String?>()
        let (session, _) = session { job in
            asked.record(job.request.headers["If-None-Match"])
            return Self.answer(Self.staleFields)
        }
        _ = await get(session)
        let second = await get(session)
        #expect(second.metrics?.resourceFetchType == .localCache)
        #expect(try await asked.values(2) == [nil, "\"1\""])
    }

    @Test func `only one background validation runs for a response`() async {
        let gate = StubGate()
        let (session, transport) = session { job in
            let answer = Self.answer(Self.staleFields)
            return job.request.headers["If-None-Match"] == nil
                ? answer : answer.waiting(atByte: 0, for: gate)
        }
        _ = await get(session)
        for _ in 0..<3 {
            #expect(await get(session).metrics?.resourceFetchType == .localCache)
        }
        #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"1\""])
        gate.open()
        withExtendedLifetime(session) {}
    }

    @Test func `a background validation that forbids storing removes the stored response`()
        async throws
    {
        let cache = ResponseCache()
        let (session, _) = session(cache) { job in
            Self.answer([
                "Cache-Control": job.request.headers["If-None-Match"] == nil
                    ? "max-age=0, stale-while-revalidate=60" : "no-store", "ETag": "\"1\"",
            ])
        }
        _ = await get(session)
        #expect(await get(session).metrics?.resourceFetchType == .localCache)
        let request = HTTPRequest(url: URL(string: address))
        while cache.cachedResponse(for: request) != nil, !Task.isCancelled { await Task.yield() }
    }

    @Test func `a background validation stores what the cached response handler decides`()
        async throws
    {
        let cache = ResponseCache()
        let proposed = Recorder<Data>()
        let handler = ResponseCacher(
            behavior: .modify { _, response in
                proposed.record(response.data)
                var response = response
                response.data = Data("modified".utf8)
                return response
            })
        let (session, _) = session(cache, handler: handler) { _ in
            Self.answer(Self.staleFields)
        }
        _ = await get(session)
        for _ in 0..<3 { #expect(await get(session).value == Data("modified".utf8)) }
        #expect(try await proposed.values(2).prefix(2) == [Data("body".utf8), Data("body".utf8)])
    }

    // MARK: Other methods, redirects and streams

    @Test func `after a DELETE the next GET is sent to the server`() async {
        let (session, transport) = session { job in
            job.request.method == .get ? Self.answer(["Cache-Control": "max-age=60"]) : .status(204)
        }
        _ = await get(session)
        _ = await get(session)
        #expect(transport.requests.count == 1)
        _ = await session.request(address, method: .delete).serializingData().response
        _ = await get(session)
        #expect(transport.requests.map(\.method.rawValue) == ["GET", "DELETE", "GET"])
    }

    @Test func `a POST whose response breaks off removes the stored response, too`() async {
        let (session, transport) = session { job in
            let answer = Self.answer(["Cache-Control": "max-age=60"])
            return job.request.method == .get
                ? answer : answer.failing(with: TransferErrors.lost, atByte: 1)
        }
        _ = await get(session)
        let response = await session.request(address, method: .post).serializingData().response
        #expect(response.error != nil && response.response?.statusCode == 200)
        _ = await get(session)
        #expect(transport.requests.map(\.method.rawValue) == ["GET", "POST", "GET"])
    }

    @Test func `a HEAD is served from a stored GET response, without a body`() async {
        let (session, transport) = session { _ in Self.answer(["Cache-Control": "max-age=60"]) }
        _ = await get(session)
        let head = await session.request(address, method: .head)
            .serializingUnserialized().response
        #expect(head.response?.statusCode == 200)
        #expect(head.data == nil)
        #expect(transport.requests.count == 1)
    }

    @Test func `a redirect that was followed is stored with its body`() async {
        let (session, transport) = session { job in
            guard job.request.url?.path == "/x" else { return .text("there") }
            var answer = StubAnswer.text("moved", statusCode: 301)
            answer.headers = ["Location": "/y", "Cache-Control": "max-age=60"]
            return answer
        }
        #expect(await get(session).value == Data("there".utf8))
        let sent = transport.requests.count
        let response = await session.request(address).redirect(using: .doNotFollow)
            .serializingData().response
        #expect(response.value == Data("moved".utf8))
        #expect(transport.requests.count == sent)
    }

    @Test func `performedRequests has each request of redirects from the cache`() async {
        let transport = StubTransport { job in
            var answer =
                job.request.url?.path == "/x" ? StubAnswer.redirect(301, to: "/y") : .text("there")
            answer.headers["Cache-Control"] = "max-age=60"
            return answer
        }
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        let session = Session(
            transport: transport, configuration: configuration, layers: [{ $0 }])
        for _ in 0..<2 {
            let request = session.request(address)
            _ = await request.serializingData().response
            #expect(request.performedRequests.map { $0.url?.path() } == ["/x", "/y"])
        }
        #expect(transport.requests.count == 2)
    }

    @Test func `redirects are stored and followed from the cache`() async {
        let (session, transport) = session { job in
            var answer =
                job.request.url?.path == "/x" ? StubAnswer.redirect(301, to: "/y") : .text("there")
            answer.headers["Cache-Control"] = "max-age=60"
            return answer
        }
        for _ in 0..<2 {
            let response = await get(session)
            #expect(response.value == Data("there".utf8))
            #expect(response.metrics?.redirectCount == 1)
        }
        #expect(transport.requests.count == 2)
    }

    @Test func `a chain of a thousand stored redirects is followed`() async throws {
        let count = 1000
        let transport = StubTransport { job in
            let left = job.request.url.flatMap { Int($0.lastPathComponent) } ?? 0
            var answer =
                left == 0 ? StubAnswer.text("there") : .redirect(301, to: "/\(left - 1)")
            answer.headers["Cache-Control"] = "max-age=600"
            return answer
        }
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        configuration.maximumRedirects = count
        let session = Session(transport: transport, configuration: configuration)
        for _ in 0..<2 {
            let request = session.request("http://a.test/\(count)")
            #expect(try await request.serializingString().value == "there")
            #expect(request.metrics?.redirectCount == count)
        }
        #expect(transport.requests.count == count + 1)
    }

    @Test func `a stored response is passed to a stream in pieces`() async throws {
        let text = String(repeating: "0123456789", count: 20_000)
        let (session, transport) = session { _ in
            Self.answer(["Cache-Control": "max-age=60"], text)
        }
        _ = await get(session)
        let pieces = Recorder<Data>()
        let end = Recorder<Bool>()
        session.streamRequest(HTTPRequest(url: URL(string: address))).responseStream { stream in
            switch stream.event {
            case .stream(.success(let data)): pieces.record(data)
            case .complete(let completion): end.record(completion.error == nil)
            }
        }
        #expect(try await end.values(1) == [true])
        #expect(pieces.values.reduce(Data(), +) == Data(text.utf8))
        #expect(pieces.values.count > 1)
        #expect(transport.requests.count == 1)
    }

    // MARK: Handlers and events

    @Test func `a request's cached response handler has priority over the session's`() async {
        let cache = ResponseCache()
        let (session, _) = session(cache, handler: .doNotCache) { _ in .text("body") }
        func stored() -> CachedResponse? {
            cache.cachedResponse(for: HTTPRequest(url: URL(string: address)))
        }
        _ = await get(session)
        #expect(stored() == nil)
        let request = session.request(address).cacheResponse(using: .cache)
        _ = await request.serializingData().response
        #expect(request.cachedResponseHandler != nil)
        #expect(stored()?.data == Data("body".utf8))
        let modified = session.request(address).cacheResponse(
            using: .modify { _, response in
                CachedResponse(
                    response: response.response, data: Data("other".utf8), userInfo: ["a": "b"])
            })
        let response = await modified.serializingData().response
        #expect(response.value == Data("body".utf8))
        #expect(stored()?.data == Data("other".utf8))
        #expect(stored()?.userInfo == ["a": "b"])
    }

    @Test func `a cached response handler that never completes does not block the request`() async {
        struct Silent: CachedResponseHandler {
            func dataTask(
                _ task: any TransferTask, willCacheResponse response: CachedResponse,
                completion: @escaping @Sendable (CachedResponse?) -> Void
            ) {}
        }
        let cache = ResponseCache()
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        configuration.interceptorTimeout = 0.01
        let session = Session(
            transport: StubTransport { _ in .text("x") }, configuration: configuration,
            cachedResponseHandler: Silent())
        #expect(await get(session).value == Data("x".utf8))
        #expect(cache.currentMemoryUsage == 0)
    }

    @Test func `the first completion of a cached response handler counts`() async throws {
        struct Twofold: CachedResponseHandler {
            let answered: Recorder<Void>
            func dataTask(
                _ task: any TransferTask, willCacheResponse response: CachedResponse,
                completion: @escaping @Sendable (CachedResponse?) -> Void
            ) {
                for text in ["first", "second"] {
                    var proposal = response
                    proposal.data = Data(text.utf8)
                    completion(proposal)
                }
                answered.record(())
            }
        }
        let cache = ResponseCache()
        let answered = Recorder<Void>()
        let (session, _) = session(cache, handler: Twofold(answered: answered)) { _ in .text("x") }
        #expect(await get(session).value == Data("x".utf8))
        try await answered.values(1)
        let kept = cache.cachedResponse(for: HTTPRequest(url: URL(string: address)))
        #expect(kept?.data == Data("first".utf8))
        withExtendedLifetime(session) {}
    }

    @Test func `a request that waits for a cached response handler can be cancelled`() async throws
    {
        struct Asking: CachedResponseHandler {
            let asked: Recorder<Bool>
            func dataTask(
                _ task: any TransferTask, willCacheResponse response: CachedResponse,
                completion: @escaping @Sendable (CachedResponse?) -> Void
            ) { asked.record(true) }
        }
        let asked = Recorder<Bool>()
        let (session, _) = session(handler: Asking(asked: asked)) { _ in .text("x") }
        let request = session.request(address)
        let task = request.serializingData()
        try await asked.values(1)
        request.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
    }

    @Test func `taskWillCacheResponse is reported after the data and before the end`()
        async throws
    {
        let recorder = EventRecorder()
        let (session, _) = session(monitors: [recorder]) { _ in .text("x") }
        _ = await get(session)
        #expect(
            try await recorder.ofTransfers.values(5) == [
                "taskDidReceiveResponse", "taskDidReceiveData", "taskWillCacheResponse",
                "taskDidGatherMetrics", "taskDidComplete",
            ])
    }

    @Test(arguments: [HTTPMethod.post, .put, .head])
    func `other methods are not cached`(method: HTTPMethod) async {
        let cache = ResponseCache()
        let (session, _) = session(cache) { _ in .text("x") }
        _ = await session.request(address, method: method).serializingUnserialized().response
        #expect(cache.currentMemoryUsage == 0)
    }

    @Test func `a cancel during the cache lookup ends the request once`() async {
        let (session, _) = session { _ in Self.answer(["Cache-Control": "max-age=60"]) }
        _ = await get(session)
        for _ in 0..<200 {
            let request = session.request(address)
            let task = request.serializingData()
            request.cancel()
            let error = await task.response.error
            #expect(error == nil || error?.isExplicitlyCancelledError == true)
        }
    }

    @Test func `a suspended and resumed request still gets the stored response`() async throws {
        let (session, _) = session { _ in Self.answer(["Cache-Control": "max-age=60"]) }
        _ = await get(session)
        let request = session.request(address, shouldAutomaticallyResume: false)
        let task = request.serializingData()
        request.suspend()
        request.resume()
        #expect(await task.response.metrics?.resourceFetchType == .localCache)
    }

    @Test func `the head of a stored response can be accepted or refused`() async {
        let (session, transport) = session { _ in Self.answer(["Cache-Control": "max-age=60"]) }
        _ = await get(session)
        for (disposition, isFine) in [
            (Request.ResponseDisposition.allow, true), (.cancel, false),
        ] {
            let response = await session.request(address)
                .onHTTPResponse { _, completion in completion(disposition) }
                .serializingData().response
            #expect((response.error == nil) == isFine)
            #expect(response.value == (isFine ? Data("body".utf8) : nil))
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `a slow stream receives a stored response completely`() async {
        let text = String(repeating: "0123456789", count: 30_000)
        var configuration = SessionConfiguration()
        configuration.streamBufferSize = 1000
        configuration.urlCache = ResponseCache()
        let transport = StubTransport { _ in Self.answer(["Cache-Control": "max-age=60"], text) }
        let session = Session(transport: transport, configuration: configuration)
        _ = await get(session)
        var received = 0
        let stream = session.streamRequest(HTTPRequest(url: URL(string: address)))
        for await piece in stream.streamTask().streamingData() {
            received += piece.value?.count ?? 0
        }
        #expect(received == text.utf8.count)
        #expect(transport.requests.count == 1)
    }

    @Test func `a response on disk is used after a restart`() async throws {
        let directory = try TemporaryDirectory()
        func cache() -> ResponseCache {
            ResponseCache(
                diskCapacity: 1 << 20, directory: directory.url.appending(path: "cache"))
        }
        let first = cache()
        let (before, _) = session(first) { _ in Self.answer(["Cache-Control": "max-age=60"]) }
        _ = await get(before)
        first.flush()
        let (after, transport) = session(cache()) { _ in .text("new") }
        let response = await get(after)
        #expect(response.response?.headers["Age"] != nil)
        #expect(response.value == Data("body".utf8))
        #expect(response.metrics?.resourceFetchType == .localCache)
        #expect(transport.requests.isEmpty)
    }

    @Test func `a 304 to an unconditional request is the response`() async {
        let answers: [StubAnswer] = [
            // Without a validator, the response is used only if the transfer fails.
            Self.answer(["Cache-Control": "max-age=0, stale-if-error=60"]), .status(304),
        ]
        let transport = StubTransport(answers: answers)
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache()
        let session = Session(transport: transport, configuration: configuration)
        _ = await get(session)
        #expect(await get(session).response?.statusCode == 304)
        withExtendedLifetime(session) {}
    }

    /// Returns a session that does not verify certificates.
    ///
    /// - Parameters:
    ///   - cache: A cache that was filled by a session that does verify them.
    ///   - answer: Answers the requests.
    private func laxSession(
        _ cache: ResponseCache, _ answer: @escaping StubTransport.Responder
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.urlCache = cache
        configuration.verifiesCertificates = false
        return Session(transport: StubTransport(answer), configuration: configuration)
    }

    private func secureRequest() -> HTTPRequest {
        HTTPRequest(url: URL(string: "https://a.test/x"))
    }

    @Test func `a 304 from an unverified server does not update the stored response`() async throws
    {
        let cache = ResponseCache()
        let (session, _) = session(cache) { _ in
            Self.answer(["Cache-Control": "max-age=0", "ETag": "\"1\"", "X": "old"])
        }
        _ = await session.request(secureRequest()).serializingData().response
        let lax = laxSession(cache) { _ in
            .status(304, headers: ["Cache-Control": "max-age=999", "X": "new"])
        }
        let response = await lax.request(secureRequest()).serializingData().response
        #expect(response.response?.headers["X"] == "new")
        let kept = try #require(cache.cachedResponse(for: secureRequest()))
        #expect(kept.response.headers["X"] == "old")
        withExtendedLifetime((session, lax)) {}
    }

    @Test
    func `a background validation by an unverified server does not change the stored response`()
        async throws
    {
        let cache = ResponseCache()
        let fields: HTTPHeaders = [
            "Cache-Control": "max-age=0, stale-while-revalidate=60", "ETag": "\"1\"",
        ]
        let (session, _) = session(cache) { _ in Self.answer(fields) }
        _ = await session.request(secureRequest()).serializingData().response
        let asked = Recorder<Void>()
        let lax = laxSession(cache) { _ in
            asked.record(())
            return Self.answer(fields, "evil")
        }
        // A second validation begins only after the first has ended.
        while asked.values.count < 2 {
            _ = await lax.request(secureRequest()).serializingData().response
        }
        #expect(cache.cachedResponse(for: secureRequest())?.data == Data("body".utf8))
        withExtendedLifetime((session, lax)) {}
    }

    // MARK: Outdated responses

    @Test(arguments: [true, false])
    func `a response that began before a removal is not stored after it`(byRequest: Bool) async {
        let cache = ResponseCache()
        let gate = StubGate()
        let (session, transport) = session(cache) { job in
            job.request.method == .put
                ? .status(204)
                : Self.answer(["Cache-Control": "max-age=60"], "old").waiting(atByte: 1, for: gate)
        }
        async let early = get(session)
        await gate.arrival()
        if byRequest {
            _ = await session.request(address, method: .put).serializingData().response
        } else {
            cache.removeAllCachedResponses()
        }
        gate.open()
        #expect(await early.value == Data("old".utf8))
        _ = await get(session)
        #expect(transport.requests.filter { $0.method == .get }.count == 2)
        #expect(await get(session).metrics?.resourceFetchType == .localCache)
    }

    @Test func `a response that was removed during its validation is not stored again`() async {
        let gate = StubGate()
        let (session, transport) = session { job in
            if job.request.method == .put { return .status(204) }
            return job.request.headers["If-None-Match"] == nil
                ? Self.answer(["Cache-Control": "max-age=0", "ETag": "\"1\""])
                : .status(304, headers: ["Cache-Control": "max-age=60"]).waiting(
                    atByte: 0, for: gate)
        }
        _ = await get(session)
        async let validated = get(session)
        await gate.arrival()
        _ = await session.request(address, method: .put).serializingData().response
        gate.open()
        #expect(await validated.value == Data("body".utf8))
        _ = await get(session)
        #expect(transport.requests.last?.headers["If-None-Match"] == nil)
        #expect(transport.requests.count == 4)
    }

    @Test(arguments: [["Cache-Control": "max-age=60"], ["Vary": "*"]] as [HTTPHeaders])
    func `a newer response that cannot be stored removes the stored one`(fields: HTTPHeaders) async
    {
        let cache = ResponseCache()
        let isLarge = fields["Vary"] == nil
        let body = Data(count: isLarge ? cache.memoryCapacity / 8 + 1 : 1)
        let (session, transport) = session(cache) { job in
            job.request.cachePolicy == .useProtocolCachePolicy
                ? Self.answer(["Cache-Control": "max-age=60"])
                : StubAnswer(headers: fields, body: body)
        }
        _ = await get(session)
        let newer = await get(session, policy: .reloadIgnoringLocalCacheData)
        #expect(newer.value == body)
        _ = await get(session)
        #expect(transport.requests.count == 3)
    }

    @Test func `a background validation ends when its body is too large to be stored`() async {
        let cache = ResponseCache()
        let gate = StubGate()
        let (session, _) = session(cache) { job in
            if job.request.headers["If-None-Match"] == nil {
                return Self.answer(Self.staleFields)
            }
            let size = cache.memoryCapacity / 8 + 1
            return StubAnswer(headers: ["Transfer-Encoding": "chunked"], body: Data(count: size))
                .waiting(atByte: size, for: gate)
        }
        _ = await get(session)
        #expect(await get(session).metrics?.resourceFetchType == .localCache)
        let request = HTTPRequest(url: URL(string: address))
        while cache.cachedResponse(for: request) != nil, !Task.isCancelled { await Task.yield() }
        #expect(cache.cachedResponse(for: request) == nil)
    }

    @Test func `a background 304 about another version removes the stored response`() async {
        let cache = ResponseCache()
        let (session, _) = session(cache) { job in
            job.request.headers["If-None-Match"] == nil
                ? Self.answer(Self.staleFields)
                : .status(304, headers: ["ETag": "\"2\""])
        }
        _ = await get(session)
        #expect(await get(session).metrics?.resourceFetchType == .localCache)
        let request = HTTPRequest(url: URL(string: address))
        while cache.cachedResponse(for: request) != nil, !Task.isCancelled { await Task.yield() }
        #expect(cache.cachedResponse(for: request) == nil)
    }

    @Test func `at most eight background validations run at a time, with low priority`() async {
        let gate = StubGate()
        let (session, transport) = session { job in
            let answer = Self.answer(Self.staleFields)
            return job.request.headers["If-None-Match"] == nil
                ? answer : answer.waiting(atByte: 0, for: gate)
        }
        for _ in 0..<2 {
            for path in 0..<20 {
                _ = await session.request("http://a.test/\(path)").serializingData().response
            }
        }
        let validations = transport.jobs.filter { $0.request.headers["If-None-Match"] != nil }
        #expect(validations.count == 8)
        #expect(validations.allSatisfy { $0.priority == .low })
        gate.open()
        withExtendedLifetime(session) {}
    }
}

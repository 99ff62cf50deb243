import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct CoalescingTests {
    let address = "http://api.test/a"
    let lost = TransferError(code: .networkConnectionLost, stage: .receiving, reason: "lost")
    let gate = StubGate()
    let seen = Recorder<DataResponse<Data?, SessionError>>()

    private func session(
        _ transport: StubTransport, interceptor: (any RequestInterceptor)? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.coalescesRequests = true
        change(&configuration)
        return Session(
            transport: transport, configuration: configuration, interceptor: interceptor)
    }

    /// A response that waits for the gate after three bytes of its body.
    private var held: StubAnswer { StubAnswer.text("shared").waiting(atByte: 3, for: gate) }

    private func send(_ session: Session, _ count: Int, _ url: String? = nil) -> [DataRequest] {
        (0..<count).map { _ in
            session.request(url ?? address).response { seen.record($0) }
        }
    }

    @Test func `concurrent equal requests share one transfer`() async throws {
        let transport = StubTransport { _ in held }
        let session = session(transport)
        let requests = send(session, 5)
        await gate.arrival()
        gate.open()
        let responses = try await seen.values(5)
        #expect(responses.map(\.data) == Array(repeating: Data("shared".utf8), count: 5))
        #expect(responses.allSatisfy { $0.response?.statusCode == 200 && $0.metrics != nil })
        #expect(transport.requests.count == 1)
        #expect(Set(requests.compactMap { $0.task?.identifier }).count == 5)
        // A later request starts its own transfer.
        _ = await session.request(address).serializingUnserialized().response
        #expect(transport.requests.count == 2)
    }

    @Test func `all coalesced requests get the error of the transfer`() async throws {
        let transport = StubTransport { _ in held.failing(with: lost, atByte: 4) }
        let session = session(transport)
        _ = send(session, 3)
        await gate.arrival()
        gate.open()
        let responses = try await seen.values(3)
        #expect(responses.map { $0.error?.transferError } == [lost, lost, lost])
        #expect(transport.requests.count == 1)
    }

    @Test func `requests with different methods, URLs, fields or bodies are not coalesced`()
        async throws
    {
        let transport = StubTransport { _ in held }
        let session = session(transport)
        var requests = [
            session.request(address), session.request(address, method: .head),
            session.request(address + "?q"), session.request(address, headers: ["Accept": "a/b"]),
            session.request(address).coalesces(false),
            session.request(address).redirect(using: .doNotFollow),
            session.request(address).onHTTPResponse { _ in },
        ]
        // Equal to the first: fragment and request ID do not count.
        requests.append(session.request(address + "#part", headers: ["X-Request-ID": "1"]))
        // At the end, because its response ends the sharing of the others.
        requests.append(session.request(address, method: .post))
        for request in requests { request.response { seen.record($0) } }
        session.upload(Data("x".utf8), to: address).response { seen.record($0) }
        await gate.arrival()
        gate.open()
        try await seen.values(10)
        #expect(transport.requests.count == 9)
    }

    @Test(
        arguments: [HTTPMethod.put, .post, .delete, HTTPMethod(rawValue: "PURGE")], [false, true])
    func `after a request that may change something, no older transfer is joined`(
        method: HTTPMethod, fails: Bool
    ) async throws {
        let transport = StubTransport { job in
            job.request.method == .get ? held : fails ? .failure(lost) : .text("changed")
        }
        let session = session(transport)
        let other = "http://other.test/a"
        _ = send(session, 1) + send(session, 1, other)
        await gate.arrival(2)
        let change = await session.request("http://api.test/b", method: method)
            .serializingUnserialized().response
        #expect(change.error == nil || fails)
        _ = send(session, 2) + send(session, 1, other)
        await gate.arrival(3)
        gate.open()
        let responses = try await seen.values(5)
        #expect(responses.allSatisfy { $0.data == Data("shared".utf8) })
        let hosts = transport.requests.filter { $0.method == .get }.map { $0.url?.host() }
        #expect(hosts == ["api.test", "other.test", "api.test"])
    }

    @Test(arguments: [false, true])
    func `after a login or logout, no transfer with the former cookies is joined`(
        logsOut: Bool
    ) async throws {
        let transport = StubTransport { job in
            job.request.url?.path() == "/a"
                ? held : StubAnswer(headers: ["Set-Cookie": "user=bob; Path=/"])
        }
        let storage = CookieStorage()
        let session = session(transport) { $0.httpCookieStorage = storage }
        let url = try #require(URL(string: address))
        let cookie = try #require(
            Cookie.cookies(withResponseHeaderFields: ["Set-Cookie": "user=ann; Path=/"], for: url)
                .first)
        storage.setCookie(cookie)
        _ = send(session, 2)
        await gate.arrival()
        if logsOut {
            storage.deleteCookie(cookie)
        } else {
            _ = await session.request("http://api.test/login").serializingUnserialized().response
        }
        _ = send(session, 2)
        await gate.arrival(2)
        gate.open()
        try await seen.values(4)
        let sent = transport.requests.filter { $0.url?.path() == "/a" }.map { $0.headers["Cookie"] }
        #expect(sent == ["user=ann", logsOut ? nil : "user=bob"])
    }

    @Test func `requests that only read do not end the sharing of transfers`() async throws {
        let transport = StubTransport { $0.request.method == .get ? held : .text("") }
        let session = session(transport)
        _ = send(session, 1)
        await gate.arrival()
        for method: HTTPMethod in [.head, .options, .query, .trace] {
            _ = await session.request(address, method: method).serializingUnserialized().response
        }
        _ = send(session, 1)
        gate.open()
        _ = try await seen.values(2)
        #expect(transport.requests.filter { $0.method == .get }.count == 1)
    }

    @Test func `requests with different credentials never share a transfer`() async throws {
        let transport = StubTransport { _ in held }
        let session = session(transport)
        let me = Credential(user: "me", password: "p", persistence: .none)
        let you = Credential(user: "you", password: "p", persistence: .none)
        let other = Credential(user: "me", password: "q", persistence: .none)
        // Equal except for the credential, which is in no field yet; the last equals the first.
        for credential in [me, you, other, nil, me] {
            let request = session.request(address)
            if let credential { request.authenticate(with: credential) }
            request.response { seen.record($0) }
        }
        await gate.arrival(4)
        gate.open()
        try await seen.values(5)
        #expect(transport.requests.count == 4)
        #expect(transport.requests.allSatisfy { $0.headers["Authorization"] == nil })
    }

    @Test func `requests are coalesced only if the session or the request enables it`() async throws
    {
        let transport = StubTransport { _ in held }
        let session = Session(transport: transport)
        for _ in 0..<2 { session.request(address).response { seen.record($0) } }
        for _ in 0..<2 { session.request(address).coalesces().response { seen.record($0) } }
        await gate.arrival()
        gate.open()
        try await seen.values(4)
        #expect(transport.requests.count == 3)
    }

    @Test(arguments: [0, 1, 2])
    func `cancelling one request does not cancel the others`(index: Int) async throws {
        let transport = StubTransport { _ in held }
        let session = session(transport)
        let requests = send(session, 3)
        await gate.arrival()
        requests[index].cancel()
        #expect(try await seen.values(1)[0].error?.isExplicitlyCancelledError == true)
        gate.open()
        let responses = try await seen.values(3)
        #expect(responses.dropFirst().map(\.data) == [Data("shared".utf8), Data("shared".utf8)])
        #expect(transport.requests.count == 1)
    }

    @Test
    func `the transfer is cancelled with the last request, and a later request starts a new one`()
        async throws
    {
        let transport = StubTransport { _ in held }
        let session = session(transport)
        let requests = send(session, 3)
        await gate.arrival()
        for request in requests { request.cancel() }
        let responses = try await seen.values(3)
        #expect(responses.allSatisfy { $0.error?.isExplicitlyCancelledError == true })
        _ = send(session, 1)
        await gate.arrival(2)
        gate.open()
        #expect(try await seen.values(4)[3].data == Data("shared".utf8))
        #expect(transport.requests.count == 2)
    }

    @Test func `each coalesced request retries by itself, and the next transfer is shared again`()
        async throws
    {
        let again = StubGate()
        let transport = StubTransport(answers: [
            held.failing(with: lost, atByte: 4),
            StubAnswer.text("shared").waiting(atByte: 3, for: again),
        ])
        let asked = Recorder<@Sendable (RetryResult) -> Void>()
        let retrier = Retrier { _, _, _, done in asked.record(done) }
        let session = session(transport, interceptor: Interceptor(retriers: [retrier]))
        let requests = send(session, 4)
        await gate.arrival()
        gate.open()
        let answers = try await asked.values(4)
        for answer in answers { answer(.retry) }
        while requests.contains(where: { $0.tasks.count < 2 }), !Task.isCancelled {
            await Task.yield()
        }
        again.open()
        let responses = try await seen.values(4)
        #expect(responses.map(\.data) == Array(repeating: Data("shared".utf8), count: 4))
        #expect(transport.requests.count == 2)
        #expect(requests.map(\.retryCount) == [1, 1, 1, 1])
    }

    @Test func `coalesced requests follow a redirect with one shared request`() async throws {
        let first = StubGate()
        let transport = StubTransport { job in
            job.request.url?.path() == "/a"
                ? StubAnswer.redirect(to: "/b").waiting(atByte: 0, for: first) : held
        }
        let session = session(transport)
        let requests = send(session, 3)
        await first.arrival()
        first.open()
        while requests.contains(where: { $0.task?.currentRequest?.url?.path() != "/b" }),
            !Task.isCancelled
        {
            await Task.yield()
        }
        gate.open()
        let responses = try await seen.values(3)
        #expect(responses.map { $0.response?.url?.path() } == ["/b", "/b", "/b"])
        #expect(responses.map { $0.metrics?.redirectCount } == [1, 1, 1])
        #expect(transport.requests.count == 2)
    }

    @Test func `cancelling one request between attempts does not affect the others`()
        async throws
    {
        let transport = StubTransport(answers: [held.failing(with: lost, atByte: 4), .text("2")])
        let asked = Recorder<@Sendable (RetryResult) -> Void>()
        let retrier = Retrier { _, _, _, done in asked.record(done) }
        let session = session(transport, interceptor: Interceptor(retriers: [retrier]))
        let requests = send(session, 2)
        await gate.arrival()
        gate.open()
        let answers = try await asked.values(2)
        requests[0].cancel()
        for answer in answers { answer(.retry) }
        let responses = try await seen.values(2)
        #expect(requests[0].isCancelled && responses.count { $0.error != nil } == 1)
        #expect(responses.count { $0.data == Data("2".utf8) } == 1)
        #expect(transport.requests.count == 2)
    }

    @Test func `each coalesced request validates by itself`() async throws {
        let transport = StubTransport { _ in
            StubAnswer.text("no", statusCode: 404).waiting(atByte: 1, for: gate)
        }
        let session = session(transport)
        session.request(address).validate().response { seen.record($0) }
        session.request(address).response(queue: DispatchQueue(label: "x")) { seen.record($0) }
        session.request(address).validate().response { seen.record($0) }
        await gate.arrival()
        gate.open()
        let responses = try await seen.values(3)
        #expect(responses.count { $0.error?.responseCode == 404 } == 2)
        #expect(responses.count { $0.error == nil && $0.data == Data("no".utf8) } == 1)
        #expect(transport.requests.count == 1)
    }

    @Test func `a suspended request does not block the other coalesced requests`() async throws {
        let transport = StubTransport { _ in held }
        let session = session(transport)
        let requests = send(session, 3)
        await gate.arrival()
        requests[0].suspend()
        requests[2].suspend()
        gate.open()
        #expect(try await seen.values(1)[0].data == Data("shared".utf8))
        #expect(seen.values.count == 1)
        requests[2].resume()
        requests[0].resume()
        let responses = try await seen.values(3)
        #expect(responses.map(\.data) == Array(repeating: Data("shared".utf8), count: 3))
        #expect(transport.requests.count == 1)
    }

    @Test func `a transfer suspended by all requests continues when the first resumes`()
        async throws
    {
        let transport = StubTransport { _ in held }
        let session = session(transport)
        let requests = send(session, 2)
        await gate.arrival()
        for request in requests { request.suspend() }
        gate.open()
        requests[1].resume()
        #expect(try await seen.values(1)[0].data == Data("shared".utf8))
        requests[0].resume()
        try await seen.values(2)
        #expect(transport.requests.count == 1)
    }

    @Test func `a new request resumes a transfer that all others have suspended`()
        async throws
    {
        let transport = StubTransport { _ in held }
        let session = session(transport)
        let requests = send(session, 2)
        await gate.arrival()
        for request in requests { request.suspend() }
        gate.open()
        _ = send(session, 1)
        #expect(try await seen.values(1)[0].data == Data("shared".utf8))
        for request in requests { request.cancel() }
        let responses = try await seen.values(3)
        #expect(responses.count { $0.error?.isExplicitlyCancelledError == true } == 2)
        #expect(transport.requests.count == 1)
    }

    @Test func `each request ends once with many joins, cancels and suspensions`() async throws {
        let ends = Recorder<Int>()
        let retrier = Retrier { request, _, _, done in
            done(request.retryCount < 2 ? .retry : .doNotRetry)
        }
        let transport = StubTransport { job in
            job.request.url?.query() == "lost"
                ? StubAnswer.text("x").failing(with: lost, atByte: 0) : .text("x")
        }
        let session = session(transport, interceptor: Interceptor(retriers: [retrier]))
        try await concurrently(2000) { number in
            let request = session.request(address + (number % 3 == 0 ? "?lost" : ""))
                .response { _ in ends.record(number) }
            switch number % 11 {
            case 0, 1: request.cancel()
            case 2: request.suspend().cancel()
            case 3, 4: request.suspend().resume()
            default: break
            }
        }
        let all = try await ends.values(2000)
        #expect(all.count == 2000 && Set(all).count == 2000)
        let active = await withCheckedContinuation { continuation in
            session.withAllRequests { continuation.resume(returning: $0.count) }
        }
        #expect(active == 0)
    }

    @Test func `a released session ends all coalesced requests once`() async throws {
        let transport = StubTransport { _ in .silence }
        var kept: Session? = session(transport)
        if let session = kept { _ = send(session, 4) }
        kept = nil
        let responses = try await seen.values(4)
        #expect(responses.allSatisfy { $0.error?.isSessionDeinitializedError == true })
        #expect(transport.requests.count == 1)
    }

    @Test func `a thousand equal requests from many threads end once each`() async throws {
        let transport = StubTransport { _ in StubAnswer.text("x").chunked(into: 1) }
        let session = session(transport)
        let counts = Recorder<Int>()
        try await concurrently(1000) { number in
            let request = session.request(address).response { _ in counts.record(1) }
            if number % 7 == 0 { request.cancel() }
            if number % 5 == 0 { request.suspend().resume() }
        }
        try await counts.values(1000)
        #expect(counts.values.count == 1000)
    }
}

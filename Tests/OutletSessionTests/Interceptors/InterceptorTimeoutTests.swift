import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Never calls the completions, but records them.
private struct Mute: RequestInterceptor {
    var answerTimeout: TimeInterval?
    var adapts = true
    let held = Recorder<@Sendable () -> Void>()

    func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        guard adapts else {
            completion(.success(request))
            return
        }
        held.record { completion(.success(request)) }
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) { held.record { completion(.retry) } }
}

private struct MuteRedirector: RedirectHandler {
    let held = Recorder<@Sendable (HTTPRequest?) -> Void>()

    func task(
        _ task: any TransferTask, willBeRedirectedTo request: HTTPRequest,
        for response: HTTPResponse, completion: @escaping @Sendable (HTTPRequest?) -> Void
    ) { held.record(completion) }
}

/// Waits in its `async` forms until it is cancelled.
private struct Waiting: RequestInterceptor {
    var adapts = true
    let events = Recorder<String>()
    private let never = AsyncStream.makeStream(of: Never.self)

    func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState
    ) async throws -> HTTPRequest {
        guard adapts else { return request }
        await wait()
        return request
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error
    ) async -> RetryResult {
        guard !adapts else { return .doNotRetry }
        await wait()
        return .retry
    }

    private func wait() async {
        events.record("began")
        for await _ in never.stream {}
        events.record(Task.isCancelled ? "cancelled" : "ended")
    }
}

@Suite(.timeLimit(.minutes(patience))) struct InterceptorTimeoutTests {
    let address = "http://example.test/get"
    /// Completes immediately with the unchanged request.
    let passing = Adapter { request, _, completion in completion(.success(request)) }

    private func configuration(timeout: TimeInterval) -> SessionConfiguration {
        var configuration = SessionConfiguration.default
        configuration.interceptorTimeout = timeout
        return configuration
    }

    @Test func `an adapter that never completes times out by name, and its late result is ignored`()
        async
    {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(
            transport: transport, configuration: configuration(timeout: 0.05),
            interceptor: Interceptor(
                adapters: [
                    passing, Adapter { request, _, completion in completion(.success(request)) },
                ]
            ))
        let mute = Mute()
        let request = session.request(
            address, interceptor: Interceptor(adapters: [passing, mute]))
        let response = await request.serializingData().response
        let timeout = response.error?.underlyingError as? InterceptorTimeoutError
        #expect(response.error?.isRequestAdaptationError == true)
        #expect(
            timeout == InterceptorTimeoutError(role: .adapter, interceptor: "Mute", timeout: 0.05))
        for answer in mute.held.values { answer() }
        #expect(transport.requests.isEmpty)
    }

    @Test func `a retrier that never completes times out, and the original error is kept`() async {
        let session = Session(
            transport: StubTransport { _ in .status(500) },
            configuration: configuration(timeout: 0.05))
        let request = session.request(address, interceptor: Mute(adapts: false)).validate()
        let response = await request.serializingUnserialized().response
        guard case .requestRetryFailed(let retryError, let original)? = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect((retryError as? InterceptorTimeoutError)?.interceptor == "Mute")
        #expect((retryError as? InterceptorTimeoutError)?.role == .retrier)
        #expect((original as? SessionError)?.responseCode == 500)
    }

    @Test func `a retrier that never completes for a serialization failure times out`() async {
        let session = Session(
            transport: StubTransport { _ in .text("not JSON") },
            configuration: configuration(timeout: 0.05))
        let request = session.request(address, interceptor: Mute(adapts: false))
        let response = await request.serializingDecodable(Int.self).response
        #expect(response.error?.isRequestRetryError == true)
        #expect(response.error?.underlyingError is InterceptorTimeoutError)
    }

    @Test(arguments: [true, false], [true, false])
    func `the task of an async interceptor is cancelled with its request and at its time limit`(
        adapts: Bool, cancels: Bool
    ) async throws {
        let waiting = Waiting(adapts: adapts)
        let session = Session(
            transport: StubTransport { _ in .status(500) },
            configuration: configuration(timeout: cancels ? 60 : 0.05))
        let request = session.request(address, interceptor: waiting).validate()
        async let response = request.serializingUnserialized().response
        _ = try await waiting.events.values(1)
        if cancels { request.cancel() }
        #expect(await response.error != nil)
        #expect(try await waiting.events.values(2) == ["began", "cancelled"])
    }

    @Test func `an interceptor's own timeout overrides the session's`() async {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = session.request(address, interceptor: Mute(answerTimeout: 0.05))
        let response = await request.serializingData().response
        #expect((response.error?.underlyingError as? InterceptorTimeoutError)?.timeout == 0.05)
    }

    @Test func `a cancel ends the wait for a retrier of a serialization failure`() async throws {
        let transport = StubTransport { _ in .text("not JSON") }
        let mute = Mute(adapts: false)
        let session = Session(transport: transport)
        let seen = Recorder<SessionError?>()
        let request = session.request(address, interceptor: mute)
            .responseDecodable(of: Int.self) { seen.record($0.error) }
            .responseString { seen.record($0.error) }
        let answers = try await mute.held.values(1)
        request.cancel()
        let errors = try await seen.values(2)
        #expect(errors.allSatisfy { $0?.isExplicitlyCancelledError == true })
        answers[0]()
        #expect(request.isCancelled)
        #expect(transport.requests.count == 1)
    }

    @Test func `invalidation ends the wait for a retrier of a serialization failure`()
        async throws
    {
        let mute = Mute(adapts: false)
        let session = Session(transport: StubTransport { _ in .text("not JSON") })
        let seen = Recorder<SessionError?>()
        session.request(address, interceptor: mute)
            .responseDecodable(of: Int.self) { seen.record($0.error) }
        try await mute.held.values(1)
        session.invalidate()
        let errors = try await seen.values(1)
        #expect(errors.first??.isSessionInvalidatedError == true)
    }

    @Test func `a cancel ends the delay of a retry at once and releases the request`() async throws
    {
        let asked = Recorder<Int>()
        let session = Session(
            transport: StubTransport { _ in .status(503) },
            interceptor: Retrier { _, _, _, completion in
                completion(.retryWithDelay(3600))
                asked.record(1)
            })
        let seen = Recorder<SessionError?>()
        weak let request = session.request(address).validate()
            .response { seen.record($0.error) }
        try await asked.values(1)
        #expect(request?.retryCount == 0)
        request?.cancel()
        let errors = try await seen.values(1)
        #expect(errors.first??.isExplicitlyCancelledError == true)
        for _ in 0..<100_000 where request != nil { await Task.yield() }
        #expect(request == nil)
    }

    @Test func `a redirect handler that never completes times out by name`() async {
        let session = Session(
            transport: StubTransport { _ in .redirect(to: "/next") },
            configuration: configuration(timeout: 0.05))
        let request = session.request(address).redirect(using: MuteRedirector())
        let response = await request.serializingData().response
        let timeout = response.error?.underlyingError as? InterceptorTimeoutError
        #expect(timeout?.interceptor == "MuteRedirector")
        #expect(timeout?.role == .redirectHandler)
    }

    @Test func `the error names the setting that limits the wait`() {
        func text(_ role: InterceptorTimeoutError.Role) -> String {
            "\(InterceptorTimeoutError(role: role, interceptor: "Mute", timeout: 1))"
        }
        for role in [InterceptorTimeoutError.Role.adapter, .retrier, .redirectHandler] {
            #expect(text(role).contains("see interceptorTimeout"))
        }
        #expect(text(.authenticator).contains("see refreshTimeout"))
    }

    @Test func `a cancel ends the wait for a redirect handler`() async throws {
        let handler = MuteRedirector()
        let session = Session(transport: StubTransport { _ in .redirect(to: "/next") })
        let seen = Recorder<SessionError?>()
        let request = session.request(address).redirect(using: handler)
            .response { seen.record($0.error) }
        try await handler.held.values(1)
        request.cancel()
        let errors = try await seen.values(1)
        #expect(errors.first??.isExplicitlyCancelledError == true)
    }

    @Test func `each request completes once with many late results, cancels and timeouts`()
        async throws
    {
        let transport = StubTransport { _ in .text("not JSON") }
        let mute = Mute(adapts: false)
        let session = Session(transport: transport, configuration: configuration(timeout: 0.02))
        let seen = Recorder<Int>()
        let count = 300
        try await concurrently(count) { index in
            let request = session.request(address, interceptor: mute)
            request.responseDecodable(of: Int.self) { _ in seen.record(index) }
            if index.isMultiple(of: 3) { DispatchQueue.global().async { request.cancel() } }
        }
        try await concurrently(50) { _ in
            for answer in mute.held.values { answer() }
        }
        try await seen.values(count)
        #expect(seen.values.count == count)
        #expect(Set(seen.values).count == count)
    }
}

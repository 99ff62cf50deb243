import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

@Suite struct InterceptorListTests {
    let asked = Recorder<String>()
    let address = "http://api.test/"
    private func adapter(_ name: String, fails: Bool = false) -> Adapter {
        Adapter { [asked] request, _, done in
            asked.record("adapt \(name)")
            var request = request
            request.headers.append(name: "X-Order", value: name)
            done(fails ? .failure(Refused()) : .success(request))
        }
    }

    private func retrier(_ name: String, _ answer: RetryResult) -> Retrier {
        Retrier { [asked] _, _, _, done in
            asked.record("retry \(name)")
            done(answer)
        }
    }

    private func send(
        _ interceptor: any RequestInterceptor, _ answer: StubAnswer = .text("x")
    ) async -> (DataResponse<Data?, SessionError>, StubTransport) {
        let transport = StubTransport { _ in answer }
        let session = Session(transport: transport, interceptor: interceptor)
        let response = await session.request(address).validate().serializingUnserialized().response
        return (response, transport)
    }

    @Test func `adapters run before interceptors, and the first failure ends the list`() async {
        let list = Interceptor(
            adapters: [adapter("a")],
            interceptors: [
                Interceptor(adapter: adapter("b"), retrier: retrier("b", .doNotRetry)),
                .interceptor(adapters: [adapter("c", fails: true)]),
                .interceptor(adapters: [adapter("d")]),
            ])
        let (response, transport) = await send(list)
        #expect(response.error?.isRequestAdaptationError == true)
        #expect(asked.values == ["adapt a", "adapt b", "adapt c", "retry b"])
        #expect(transport.requests.isEmpty)
    }

    @Test func `each adapter gets the request changed by the previous one`() async {
        let (_, transport) = await send(
            .interceptor(adapters: [adapter("a"), .adapter { $2(.success($0)) }, adapter("b")]))
        #expect(transport.requests.first?.headers.values(for: "X-Order") == ["a", "b"])
    }

    @Test func `retriers are called until one decides`() async {
        let (response, transport) = await send(
            .interceptor(retriers: [
                retrier("a", .doNotRetry), retrier("b", .doNotRetryWithError(Refused())),
                retrier("c", .retry),
            ]), .status(500))
        #expect(asked.values == ["retry a", "retry b"])
        #expect(response.error?.isRequestRetryError == true)
        #expect(transport.requests.count == 1)
    }

    @Test func `an interceptor can be made from two closures`() async {
        let asked = asked
        let (_, transport) = await send(
            Interceptor(
                adaptHandler: { request, _, done in
                    asked.record("adapt")
                    done(.success(request))
                },
                retryHandler: { request, _, _, done in
                    asked.record("retry")
                    done(request.retryCount == 0 ? .retryWithDelay(0) : .doNotRetry)
                }), .status(500))
        #expect(asked.values == ["adapt", "retry", "adapt", "retry"])
        #expect(transport.requests.count == 2)
    }

    @Test func `a retrier is not asked about the error with which it has ended the request`() async
    {
        let transport = StubTransport { _ in .status(500) }
        let session = Session(
            transport: transport,
            interceptor: .interceptor(retriers: [
                retrier("a", .doNotRetry), retrier("b", .doNotRetryWithError(Refused())),
            ]))
        // The serializer passes the error on.
        let response = await session.request(address).validate().serializingString().response
        #expect(asked.values == ["retry a", "retry b"])
        guard case .requestRetryFailed(_, let original)? = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect((original as? SessionError)?.responseCode == 500)
    }

    /// What a session waits for.
    enum Pending: CaseIterable {
        case adapter, retrier
    }

    @Test(arguments: Pending.allCases)
    func `a released session ends requests that wait for an interceptor`(pending: Pending)
        async throws
    {
        let held = Recorder<@Sendable () -> Void>()
        let adapter = Adapter { request, _, completion in
            guard pending == .adapter else { return completion(.success(request)) }
            held.record { completion(.success(request)) }
        }
        let retrier = Retrier { _, _, _, completion in
            held.record { completion(.doNotRetry) }
        }
        let ended = Recorder<SessionError?>()
        do {
            let session = Session(
                transport: StubTransport { _ in .status(500) },
                interceptor: Interceptor(
                    adapters: [adapter, self.adapter("later")],
                    retriers: [retrier, self.retrier("later", .retry)]))
            session.request(address).validate().response { ended.record($0.error) }
            try await held.values(1)
            withExtendedLifetime(session) {}
        }
        let error = try await ended.values(1)[0]
        // As after a cancel, a request about which a retrier decides ends with its failure.
        #expect(error?.isSessionDeinitializedError == (pending == .adapter))
        #expect(error?.responseCode == (pending == .adapter ? nil : 500))
        held.values[0]()
        #expect(asked.values == (pending == .adapter ? [] : ["adapt later"]))
    }
}

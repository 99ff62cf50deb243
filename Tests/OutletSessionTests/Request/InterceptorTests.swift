import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import Synchronization
import Testing

/// Implements only the `async` methods.
private struct Asynchronous: RequestInterceptor {
    let ids = Recorder<UUID>()

    func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState
    ) async throws -> HTTPRequest {
        ids.record(state.requestID)
        var request = request
        request.headers.update(name: "X-Async", value: "\(state.retryCount)")
        return request
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error
    ) async -> RetryResult { request.retryCount < 1 ? .retry : .doNotRetry }
}

@Suite struct InterceptorTests {
    let address = "http://example.test/401"

    @Test
    func `with one response handler a 401 is adapted twice and calls the retrier three times`()
        async
    {
        let interceptor = Counting()
        let session = Session(transport: StubTransport { _ in .status(401) })
        let request = session.request(address, interceptor: interceptor).validate()
        _ = await request.serializingData().response
        #expect(interceptor.adapted.load(ordering: .relaxed) == 2)
        #expect(interceptor.retried.load(ordering: .relaxed) == 3)
        #expect(request.retryCount == 1)
    }

    @Test func `session and request interceptors are called the expected number of times`() async {
        let outer = Counting()
        let inner = Counting()
        let session = Session(
            transport: StubTransport { _ in .status(401) }, interceptor: outer)
        let request = session.request(address, interceptor: inner).validate()
        _ = await request.serializingData().response
        #expect(outer.adapted.load(ordering: .relaxed) == 3)
        #expect(inner.adapted.load(ordering: .relaxed) == 3)
        #expect(outer.retried.load(ordering: .relaxed) == 4)
        #expect(inner.retried.load(ordering: .relaxed) == 3)
        #expect(request.retryCount == 2)
    }

    @Test func `a retrier's own error is wrapped around the original one`() async {
        let interceptor = Counting(until: 9, result: .doNotRetryWithError(Refused()))
        let session = Session(transport: StubTransport { _ in .status(401) })
        let request = session.request(address, interceptor: interceptor).validate()
        let response = await request.serializingData().response
        #expect(response.error?.isRequestRetryError == true)
        #expect(response.error?.underlyingError is Refused)
        #expect(interceptor.adapted.load(ordering: .relaxed) == 1)
        #expect(interceptor.retried.load(ordering: .relaxed) == 1)
        #expect(request.retryCount == 0)
    }

    @Test func `each failing serializer calls the retrier`() async throws {
        let interceptor = Counting(until: 0)
        let session = Session(transport: StubTransport { _ in .text("not JSON") })
        let seen = Recorder<Int>()
        session.request(address, interceptor: interceptor)
            .responseDecodable(of: Int.self) { _ in seen.record(1) }
            .responseDecodable(of: Int.self) { _ in seen.record(2) }
        #expect(try await seen.values(2) == [1, 2])
        #expect(interceptor.retried.load(ordering: .relaxed) == 2)
    }

    @Test func `a serialization failure can restart the request`() async {
        let interceptor = Counting(until: 3)
        let session = Session(transport: StubTransport { _ in .text("not JSON") })
        let request = session.request(address, interceptor: interceptor)
        let response = await request.serializingDecodable(Int.self).response
        #expect(response.error?.isResponseSerializationError == true)
        #expect(interceptor.adapted.load(ordering: .relaxed) == 3)
        #expect(interceptor.retried.load(ordering: .relaxed) == 3)
        #expect(request.retryCount == 2)
    }

    @Test func `an adapter's failure is an adaptation error and may be retried`() async {
        let interceptor = Counting()
        let refusing = Adapter { _, _, completion in completion(.failure(Refused())) }
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport, interceptor: refusing)
        let request = session.request(address, interceptor: interceptor)
        let response = await request.serializingData().response
        #expect(response.error?.isRequestAdaptationError == true)
        #expect(response.error?.underlyingError is Refused)
        #expect(request.retryCount == 1)
        #expect(transport.requests.isEmpty)
    }

    @Test func `an interceptor can implement only the async methods, which get the request's id`()
        async
    {
        let interceptor = Asynchronous()
        let transport = StubTransport(answers: [.status(500), .text("x")])
        let session = Session(transport: transport)
        let request = session.request(address, interceptor: interceptor).validate()
        #expect(await request.serializingString().response.value == "x")
        #expect(transport.requests.map { $0.headers["X-Async"] } == ["0", "1"])
        #expect(interceptor.ids.values == [request.id, request.id])
    }

    @Test func `a retry runs the convertible and the modifier again`() async {
        let count = Atomic(0)
        let transport = StubTransport(answers: [.status(503), .text("x")])
        let session = Session(transport: transport)
        let request = session.request(
            address, interceptor: Counting(),
            requestModifier: { request in
                let attempt = count.add(1, ordering: .relaxed).newValue
                request.headers.update(name: "X-Attempt", value: "\(attempt)")
            }
        ).validate()
        #expect(await request.serializingString().response.value == "x")
        #expect(transport.requests.map { $0.headers["X-Attempt"] } == ["1", "2"])
    }

    @Test func `interceptors added to a request are called after the session's and the call's`()
        async
    {
        let order = Recorder<String>()
        func named(_ name: String) -> Interceptor {
            Interceptor(
                adaptHandler: { request, _, completion in
                    order.record("adapt \(name)")
                    completion(.success(request))
                },
                retryHandler: { _, _, _, completion in
                    order.record("retry \(name)")
                    completion(.doNotRetry)
                })
        }
        let session = Session(
            transport: StubTransport { _ in .status(500) }, interceptor: named("session"))
        let request = session.request(address, interceptor: named("call")).validate()
            .interceptor(named("added"))
            .adapt(using: named("adapter"))
            .retry(using: named("retrier"))
        _ = await request.serializingUnserialized().response
        #expect(
            order.values == [
                "adapt session", "adapt call", "adapt added", "adapt adapter",
                "retry session", "retry call", "retry added", "retry retrier",
            ])
    }
}

import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

/// Tests synchronous adapters, and request preparers, which are called last.
@Suite(.timeLimit(.minutes(patience))) struct SynchronousAdapterTests {
    private static let place = DispatchSpecificKey<String>()
    private let caller: DispatchQueue

    init() {
        caller = DispatchQueue(label: "caller")
        caller.setSpecific(key: Self.place, value: "caller")
    }

    /// Records the queue that it is called on.
    private struct Quick: RequestInterceptor, SynchronousRequestAdapter {
        let asked: Recorder<String>

        func adapt(
            _ request: HTTPRequest, using state: RequestAdapterState
        ) throws -> HTTPRequest {
            asked.record(DispatchQueue.getSpecific(key: place) ?? "elsewhere")
            var request = request
            request.headers.append(name: "X-Order", value: "quick \(state.retryCount)")
            return request
        }
    }

    private struct Last: RequestPreparer {
        func adapt(
            _ request: HTTPRequest, using state: RequestAdapterState
        ) async throws -> HTTPRequest {
            var request = request
            request.headers.append(name: "X-Order", value: "last")
            return request
        }
    }

    /// Starts a request on the caller's queue, and returns its response.
    private func send(
        _ transport: StubTransport, _ interceptors: any RequestInterceptor...,
        own: (any RequestInterceptor)? = nil
    ) async -> DataResponse<Data, SessionError> {
        let session = Session(
            transport: transport, interceptor: Interceptor(interceptors: interceptors))
        let ended = Recorder<DataResponse<Data, SessionError>>()
        let response = await withCheckedContinuation { continuation in
            caller.async {
                session.request("http://api.test/", interceptor: own).validate().responseData {
                    continuation.resume(returning: $0)
                }
            }
        }
        withExtendedLifetime((session, ended)) {}
        return response
    }

    @Test func `a synchronous adapter is called on the caller's queue`() async throws {
        let asked = Recorder<String>()
        let transport = StubTransport(answers: [.text("x")])
        let response = await send(transport, Quick(asked: asked))
        #expect(response.error == nil)
        #expect(asked.values == ["caller"])
        #expect(transport.requests.first?.headers["X-Order"] == "quick 0")
    }

    @Test func `a synchronous adapter after an asynchronous one is called on the request queue`()
        async throws
    {
        let asked = Recorder<String>()
        let transport = StubTransport(answers: [.text("x")])
        let slow = Adapter { request, _, done in done(.success(request)) }
        _ = await send(transport, slow, Quick(asked: asked))
        #expect(asked.values == ["elsewhere"])
    }

    @Test func `a synchronous adapter is called on the request queue for a retry`() async throws {
        let asked = Recorder<String>()
        let transport = StubTransport(answers: [.status(503), .text("x")])
        let response = await send(
            transport, Quick(asked: asked),
            Retrier { request, _, _, done in done(request.retryCount == 0 ? .retry : .doNotRetry) })
        #expect(response.error == nil)
        #expect(asked.values.last == "elsewhere" && asked.values.count == 2)
    }

    @Test func `a preparer is called after the request's own adapters`() async throws {
        let transport = StubTransport(answers: [.text("x")])
        let asked = Recorder<String>()
        let session = Session(
            transport: transport,
            interceptor: Interceptor(adapters: [Last(), Quick(asked: asked)]))
        let own = Adapter { request, _, done in
            var request = request
            request.headers.append(name: "X-Order", value: "own")
            done(.success(request))
        }
        _ = await session.request("http://api.test/", interceptor: own).serializingData().response
        #expect(
            transport.requests.first?.headers.values(for: "X-Order") == ["quick 0", "own", "last"])
    }
}

import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct RequestDelegateTests {
    let address = "http://example.test/get"

    @Test func `a request's delegate is its session until the session is released`() async {
        var configuration = SessionConfiguration.default
        configuration.maximumRedirects = 3
        var session: Session? = Session(
            transport: StubTransport { _ in .text("x") }, configuration: configuration,
            startRequestsImmediately: false)
        let request = session?.request(address)
        #expect(request?.delegate?.sessionConfiguration.maximumRedirects == 3)
        #expect(request?.delegate?.startImmediately == false && request?.delegate === session)
        session = nil
        #expect(request?.delegate == nil)
    }

    @Test func `retryResult returns the decision of the retriers`() async throws {
        let first = Counting(until: 0)
        let session = Session(
            transport: StubTransport { _ in .text("x") }, interceptor: first)
        let request = session.request(
            address,
            interceptor: Retrier { _, _, _, completion in
                completion(.retryWithDelay(7))
            })
        let results = Recorder<Double?>()
        request.delegate?.retryResult(
            for: request, dueTo: .createURLRequestFailed(error: Refused())
        ) { results.record($0.delay) }
        #expect(try await results.values(1) == [7])
        #expect(first.calls == [0, 1] && request.isInitialized && request.retryCount == 0)
        let plain = Session(transport: StubTransport { _ in .text("x") })
        let refusals = Recorder<Bool>()
        plain.retryResult(for: plain.request(address), dueTo: .explicitlyCancelled) {
            refusals.record($0.retryRequired)
        }
        #expect(try await refusals.values(1) == [false])
    }

    @Test(arguments: [nil, 0.001])
    func `retryRequest retries before the retrier's result`(delay: Double?) async throws {
        let session = Session(
            transport: StubTransport(answers: [.status(500), .status(200)]))
        let questions = Recorder<@Sendable (RetryResult) -> Void>()
        let request = session.request(
            address,
            interceptor: Retrier { _, _, _, completion in questions.record(completion) }
        ).validate()
        let response = request.serializingUnserialized()
        let answer = try #require(try await questions.values(1).first)
        let other = Session(transport: StubTransport { _ in .status(500) })
        other.retryRequest(request, withDelay: nil)
        #expect(request.retryCount == 0 && !request.isFinished)
        request.delegate?.retryRequest(request, withDelay: delay)
        answer(.doNotRetry)
        #expect(await response.response.response?.statusCode == 200)
        #expect(request.retryCount == 1 && request.error == nil)
        session.retryRequest(request, withDelay: nil)
        #expect(request.retryCount == 1 && questions.values.count == 1)
    }

    @Test func `cleanup removes a request from all requests of the session`() async throws {
        let gate = StubGate()
        let session = Session(
            transport: StubTransport { _ in .text("x").waiting(atByte: 0, for: gate) })
        let request = session.request(address)
        let text = request.serializingString()
        let other = Session(transport: StubTransport { _ in .text("y") })
        let seen = Recorder<Int>()
        other.cleanup(after: request)
        session.withAllRequests { seen.record($0.count) }
        #expect(try await seen.values(1) == [1])
        request.delegate?.cleanup(after: request)
        session.withAllRequests { seen.record($0.count) }
        #expect(try await seen.values(2) == [1, 0])
        session.cancelAllRequests { seen.record(-1) }
        try await seen.values(3)
        gate.open()
        #expect(await text.response.value == "x")
    }

    @Test func `readyToPerform prepares only a request of the same session`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport)
        let other = Session(transport: StubTransport { _ in .text("y") })
        let request = session.request(address)
        other.readyToPerform(request: request)
        await other.rootQueue.drained()
        #expect(request.request == nil)
        session.readyToPerform(request: request)
        await session.rootQueue.drained()
        await session.requestQueue.drained()
        #expect(request.request?.url?.absoluteString == address && request.isInitialized)
        #expect(request.task?.state == .suspended && transport.requests.isEmpty)
        #expect(await request.serializingString().response.value == "x")
        #expect(request.tasks.count == 1 && transport.requests.count == 1)
    }
}

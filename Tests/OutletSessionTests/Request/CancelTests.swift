import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct CancelTests {
    let address = "http://example.test/get"

    @Test func `a cancel before the start calls each handler once`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport, startRequestsImmediately: false)
        let seen = Recorder<SessionError?>()
        let request = session.request(address).responseData { seen.record($0.error) }
        request.cancel()
        let errors = try await seen.values(1)
        #expect(errors.first??.isExplicitlyCancelledError == true)
        request.resume()
        #expect(request.isCancelled)
        #expect(transport.requests.isEmpty)
        #expect(seen.values.count == 1)
    }

    @Test func `a cancel of a transfer calls each handler once, without a retry`() async throws {
        let asked = Recorder<Int>()
        let transport = StubTransport { _ in .silence }
        let session = Session(
            transport: transport,
            interceptor: Retrier { _, _, _, completion in
                asked.record(1)
                completion(.retry)
            })
        let seen = Recorder<SessionError?>()
        let request = session.request(address)
            .responseData { seen.record($0.error) }
            .responseString { seen.record($0.error) }
        while transport.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        request.cancel()
        let errors = try await seen.values(2)
        #expect(errors.allSatisfy { $0?.isExplicitlyCancelledError == true })
        #expect(asked.values.isEmpty)
        #expect(transport.requests.count == 1)
    }

    @Test func `a cancel after the end changes nothing`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport)
        let request = session.request(address)
        #expect(await request.serializingString().response.value == "x")
        request.cancel()
        #expect(request.isFinished)
        #expect(request.error == nil)
        #expect(await request.serializingString().response.value == "x")
    }

    @Test func `a cancel during an adapter call ignores the adapter's result`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let held = Recorder<@Sendable () -> Void>()
        let session = Session(
            transport: transport,
            interceptor: Adapter { request, _, completion in
                held.record { completion(.success(request)) }
            })
        let seen = Recorder<SessionError?>()
        let request = session.request(address).responseData { seen.record($0.error) }
        let answers = try await held.values(1)
        request.cancel()
        let errors = try await seen.values(1)
        #expect(errors.first??.isExplicitlyCancelledError == true)
        answers[0]()
        answers[0]()
        #expect(transport.requests.isEmpty)
    }

    @Test func `a cancel during a retrier call ends the request at once`() async throws {
        let transport = StubTransport { _ in
            .failure(TransferError(code: .networkConnectionLost, reason: "lost"))
        }
        let held = Recorder<@Sendable () -> Void>()
        let session = Session(
            transport: transport,
            interceptor: Retrier { _, _, _, completion in held.record { completion(.retry) } })
        let seen = Recorder<SessionError?>()
        let request = session.request(address).response { seen.record($0.error) }
        let answers = try await held.values(1)
        request.cancel()
        // The error is what the retrier was asked about.
        let error = try await seen.values(1).first ?? nil
        #expect((error?.underlyingError as? TransferError)?.code == .networkConnectionLost)
        answers[0]()
        #expect(transport.requests.count == 1)
        #expect(request.isCancelled)
    }

    @Test func `cancelling the awaiting task cancels the request`() async throws {
        let transport = StubTransport { _ in .silence }
        let session = Session(transport: transport)
        let request = session.request(address)
        let task = Task { await request.serializingData().response }
        while transport.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        task.cancel()
        #expect(await task.value.error?.isExplicitlyCancelledError == true)
        #expect(request.isCancelled)
    }

    @Test func `cancels from many threads call each handler once`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport)
        let seen = Recorder<Int>()
        let count = 500
        try await concurrently(count) { index in
            let request = session.request(address)
            request.responseData { _ in seen.record(index) }
            DispatchQueue.global().async { request.cancel() }
            if index.isMultiple(of: 3) { request.cancel() }
        }
        try await seen.values(count)
        #expect(Set(seen.values).count == count)
        #expect(seen.values.count == count)
    }

    @Test func `cancelAllRequests cancels all requests of a session`() async throws {
        let transport = StubTransport { _ in .silence }
        let session = Session(transport: transport)
        let seen = Recorder<SessionError?>()
        for _ in 0..<20 { session.request(address).responseData { seen.record($0.error) } }
        session.cancelAllRequests()
        let errors = try await seen.values(20)
        #expect(errors.allSatisfy { $0?.isExplicitlyCancelledError == true })
    }
}

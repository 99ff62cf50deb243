import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import Synchronization
import Testing

/// Tests how often adapters and retriers are called.
@Suite struct RetryCountTests {
    let address = "http://example.test/"

    private func session(_ answers: StubAnswer...) -> Session {
        Session(transport: StubTransport(answers: answers))
    }

    @Test func `an adapter that fails once is retried once`() async {
        let interceptor = Counting(refusing: [1])
        let session = session(.text("x"))
        let request = session.request(address, interceptor: interceptor).validate()
        #expect(await request.serializingString().response.value == "x")
        #expect(interceptor.calls == [2, 1] && request.retryCount == 1)
    }

    @Test func `a failing adapter of a download and an upload is retried once`() async {
        let session = session(.text("x"))
        let first = Counting(refusing: [1])
        let download = session.download(address, interceptor: first).validate()
        let whole = await download.serializingString().response
        whole.removeFiles()
        #expect(whole.value == "x")
        #expect(first.calls == [2, 1] && download.retryCount == 1)
        let second = Counting(refusing: [1])
        let upload = session.upload(Data("a".utf8), to: address, interceptor: second)
        #expect(await upload.serializingString().response.value == "x")
        #expect(second.calls == [2, 1] && upload.retryCount == 1)
    }

    @Test
    func `an adapter failure on the retry and the serialization failure each call the retrier`()
        async
    {
        let interceptor = Counting(refusing: [2])
        let session = session(.status(401))
        let request = session.request(address, interceptor: interceptor).validate()
        let response = await request.serializingDecodable(Int.self).response
        #expect(interceptor.calls == [2, 3] && request.retryCount == 1)
        #expect(request.error?.isRequestAdaptationError == true)
        #expect(response.error?.underlyingError as? Counting.Refusal == .init(call: 2))
    }

    @Test func `a delayed retry has the same number of calls`() async {
        let interceptor = Counting(result: .retryWithDelay(0.001), refusing: [2])
        let session = session(.status(401))
        let request = session.request(address, interceptor: interceptor).validate()
        _ = await request.serializingDecodable(Int.self).response
        #expect(interceptor.calls == [2, 3] && request.retryCount == 1)
    }

    @Test func `retriers and adapters are called one after the other on the root queue`() async {
        let key = DispatchSpecificKey<Bool>()
        let root = DispatchQueue(label: "root", attributes: .concurrent)
        root.setSpecific(key: key, value: true)
        let isOverlapping = Atomic(false)
        let places = Recorder<Bool>()
        let active = Atomic(0)
        let interceptor = Interceptor { request, _, completion in
            if active.add(1, ordering: .relaxed).newValue != 1 {
                isOverlapping.store(true, ordering: .relaxed)
            }
            places.record(DispatchQueue.getSpecific(key: key) == true)
            active.subtract(1, ordering: .relaxed)
            completion(.success(request))
        } retryHandler: { request, _, _, completion in
            active.add(1, ordering: .relaxed)
            places.record(DispatchQueue.getSpecific(key: key) == true)
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
            // The next attempt's adapter must not be called until this closure has returned.
            for _ in 0..<1000 { sched_yield() }
            active.subtract(1, ordering: .relaxed)
        }
        let session = Session(
            transport: StubTransport { _ in .text("no JSON") }, rootQueue: root,
            interceptor: interceptor)
        let validated = session.request(address).validate(statusCode: [404])
        _ = await validated.serializingUnserialized().response
        #expect(validated.retryCount == 1 && !isOverlapping.load(ordering: .relaxed))
        // The transfer's retry and the serializer's retry call two adapters and two retriers each.
        let serialized = session.request(address)
        _ = await serialized.serializingDecodable(Int.self).response
        #expect(serialized.retryCount == 1 && !isOverlapping.load(ordering: .relaxed))
        #expect(places.values == Array(repeating: true, count: 8))
    }

    @Test func `a serialization failure restarts all serializers, for data and downloads`()
        async throws
    {
        let interceptor = Counting()
        let session = session(.text("no JSON"))
        let seen = Recorder<Int>()
        let request = session.request(address, interceptor: interceptor)
            .responseDecodable(of: Int.self) { _ in seen.record(1) }
            .responseDecodable(of: Int.self) { _ in seen.record(2) }
        #expect(try await seen.values(2) == [1, 2])
        #expect(interceptor.calls == [2, 3] && request.retryCount == 1)
        let second = Counting(refusing: [2])
        let errors = Recorder<SessionError?>()
        let download = session.download(address, interceptor: second)
            .responseDecodable(of: Int.self) { errors.record($0.error) }
            .responseDecodable(of: Int.self) { errors.record($0.error) }
        let both = try await errors.values(2)
        #expect(both.allSatisfy { $0?.isRequestAdaptationError == true })
        #expect(second.calls == [2, 4] && download.retryCount == 1)
    }

    @Test func `each serialization failure has the error of its own retry decision`() async throws {
        let calls = Atomic(0)
        let retrier = Retrier { _, _, _, completion in
            completion(
                .doNotRetryWithError(
                    Counting.Refusal(call: calls.add(1, ordering: .relaxed).newValue)))
        }
        let session = session(.text("no JSON"))
        let errors = Recorder<SessionError?>()
        session.request(address, interceptor: retrier)
            .responseDecodable(of: Int.self) { errors.record($0.error) }
            .responseDecodable(of: Int.self) { errors.record($0.error) }
        for (index, error) in try await errors.values(2).enumerated() {
            guard case .requestRetryFailed(let retryError, let original)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(retryError as? Counting.Refusal == .init(call: index + 1))
            #expect(original.asSessionError?.underlyingError is DecodingError)
        }
    }

    @Test func `requests of a session that has ended call no retrier`() async throws {
        let calls = Recorder<Int>()
        let session = Session(
            transport: StubTransport { _ in .status(503) },
            interceptor: Retrier { request, session, _, completion in
                calls.record(request.retryCount)
                session.invalidate()
                completion(request.retryCount < 3 ? .retry : .doNotRetry)
            })
        let failed = await session.request(address).validate().serializingString().response
        #expect(failed.error?.responseCode == 503)
        let data = await session.request(address).serializingString().response
        #expect(data.error?.isSessionInvalidatedError == true)
        let download = await session.download(address).serializingString().response
        #expect(download.error?.isSessionInvalidatedError == true)
        #expect(calls.values == [0])
    }

    @Test func `a response without a serializer does not call a retrier`() async {
        let interceptor = Counting()
        let session = session(.text("no JSON"))
        _ = await session.request(address, interceptor: interceptor).serializingUnserialized()
            .response
        #expect(interceptor.calls == [1, 0])
    }

    @Test func `a convertible is called again at every attempt and may return another request`()
        async
    {
        final class Addresses: URLRequestConvertible {
            let next = Atomic(0)
            func asURLRequest() throws -> HTTPRequest {
                let path = next.add(1, ordering: .relaxed).newValue
                return HTTPRequest(url: URL(string: "http://example.test/\(path)"))
            }
        }
        let transport = StubTransport(answers: [.status(500), .status(500), .text("x")])
        let session = Session(transport: transport)
        let request = session.request(
            Addresses(), interceptor: RetryPolicy(exponentialBackoffScale: 0)
        ).validate()
        #expect(await request.serializingString().response.value == "x")
        #expect(transport.requests.map { $0.url?.path } == ["/1", "/2", "/3"])
        // An interceptor without an adapter adds the unchanged request once more at each attempt.
        #expect(request.requests.map { $0.url?.path } == ["/1", "/1", "/2", "/2", "/3", "/3"])
        #expect(request.performedRequests.count == 3 && request.tasks.count == 3)
        #expect(request.allMetrics.count == 3)
    }
}

import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTesting
import OutletTestSupport
import Testing

/// Tests handlers that are added late, or while others are being called.
@Suite struct LateHandlerTests {
    let address = "http://example.test/"
    let transport = StubTransport { _ in .text("x") }

    @Test func `a handler may add handlers, and the transfer is not repeated`() async throws {
        let session = Session(transport: transport)
        let seen = Recorder<String>()
        let request = session.request(address)
        request.responseString { first in
            seen.record("1 \(first.value ?? "")")
            request.responseString { second in
                seen.record("2 \(second.value ?? "")")
                request.response { third in seen.record("3 \(third.data?.count ?? 0)") }
            }
        }
        #expect(try await seen.values(3) == ["1 x", "2 x", "3 1"])
        #expect(transport.requests.count == 1)
    }

    @Test func `a cancelled request calls later handlers with its error`()
        async throws
    {
        let session = Session(transport: StubTransport { _ in .silence })
        let errors = Recorder<Bool?>()
        let request = session.request(address)
        request.responseString { first in
            errors.record(first.error?.isExplicitlyCancelledError)
            request.responseString { errors.record($0.error?.isExplicitlyCancelledError) }
        }
        request.cancel()
        #expect(try await errors.values(2) == [true, true])
        #expect(request.isCancelled)
        let late = await request.serializingData().response
        #expect(late.error?.isExplicitlyCancelledError == true)
    }

    @Test func `a cancel inside a handler has no effect`() async throws {
        let interceptor = Counting()
        let session = Session(transport: transport)
        let seen = Recorder<Bool>()
        let request = session.request(address, interceptor: interceptor)
        request.responseString { response in
            request.cancel()
            seen.record(response.result.isSuccess)
        }
        request.responseString { seen.record($0.result.isSuccess) }
        #expect(try await seen.values(2) == [true, true])
        #expect(interceptor.calls == [1, 0] && request.retryCount == 0 && request.isFinished)
    }

    @Test func `completions are called after the last serializer has finished`() async throws {
        struct Noting: ResponseSerializer {
            let name: String
            let seen: Recorder<String>
            func serialize(
                request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
            ) throws -> Int {
                seen.record("serialize \(name)")
                return 1
            }
        }
        let seen = Recorder<String>()
        let session = Session(transport: transport)
        session.request(address, shouldAutomaticallyResume: false)
            .response(responseSerializer: Noting(name: "1", seen: seen)) { _ in
                seen.record("complete 1")
            }
            .response(responseSerializer: Noting(name: "2", seen: seen)) { _ in
                seen.record("complete 2")
            }
            .resume()
        #expect(
            try await seen.values(4) == [
                "serialize 1", "serialize 2", "complete 1", "complete 2",
            ])
    }

    @Test func `a cancel before the start is final`() async throws {
        let session = Session(transport: transport, startRequestsImmediately: false)
        let seen = Recorder<Bool?>()
        let one = session.request(address).cancel()
            .response { seen.record($0.error?.isExplicitlyCancelledError) }
        let two = session.request(address)
            .response { seen.record($0.error?.isExplicitlyCancelledError) }.cancel().resume()
        #expect(try await seen.values(2) == [true, true])
        #expect(one.isCancelled && two.isCancelled && transport.requests.isEmpty)
        #expect(one.task == nil && two.task == nil)
    }

    @Test func `a session works with concurrent queues`() async throws {
        let session = Session(
            transport: transport,
            rootQueue: DispatchQueue(label: "root", attributes: .concurrent),
            requestQueue: DispatchQueue(label: "requests", attributes: .concurrent),
            serializationQueue: DispatchQueue(label: "serialization", attributes: .concurrent))
        let seen = Recorder<String>()
        try await concurrently(100) { _ in
            session.request(address, interceptor: Counting()).responseString {
                seen.record($0.value ?? "\($0)")
            }
        }
        let texts = try await seen.values(100)
        #expect(texts.allSatisfy { $0 == "x" })
    }
}

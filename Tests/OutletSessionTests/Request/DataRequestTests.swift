import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct DataRequestTests {
    let address = "http://example.test/get"

    private func session(
        _ answer: StubAnswer, interceptor: (any RequestInterceptor)? = nil,
        delivery: Session.CallbackDelivery = .queued
    ) -> (Session, StubTransport) {
        let transport = StubTransport { _ in answer }
        return (
            Session(transport: transport, delivery: delivery, interceptor: interceptor), transport
        )
    }

    @Test func `a request starts when its first handler is added, and returns the body`()
        async throws
    {
        let (session, transport) = session(.text("hello"))
        let response = await session.request(address).serializingData().response
        #expect(response.value == Data("hello".utf8))
        #expect(response.response?.statusCode == 200)
        #expect(response.request?.url?.absoluteString == address)
        #expect(response.metrics != nil)
        #expect(transport.requests.count == 1)
    }

    @Test func `the session's fields are added unless the request has fields of the same name`()
        async
    {
        let transport = StubTransport { _ in .status(204) }
        var configuration = SessionConfiguration()
        configuration.headers = ["X-Both": "session", "X-Session": "yes"]
        let session = Session(transport: transport, configuration: configuration)
        _ = await session.request(address, headers: ["x-both": "request"]).serializingData().value1
        #expect(transport.requests.first?.headers.values(for: "X-Both") == ["request"])
        #expect(transport.requests.first?.headers.value(for: "X-Session") == "yes")
    }

    @Test func `the id of a request is a UUID of version 8, and differs from others'`() {
        let (session, _) = session(.text("hello"))
        let ids = (0..<300).map { _ in session.request(address).id }
        #expect(Set(ids).count == 300)
        for id in ids {
            let text = Array(id.uuidString.utf8)
            #expect(text[14] == UInt8(ascii: "8"))
            #expect("89AB".utf8.contains(text[19]))
        }
    }

    @Test func `completions run on the given queue`() async throws {
        let (session, _) = session(.text("x"))
        let key = DispatchSpecificKey<String>()
        let queue = DispatchQueue(label: "mine")
        queue.setSpecific(key: key, value: "mine")
        let seen = Recorder<String?>()
        session.request(address).responseData(queue: queue) { _ in
            seen.record(DispatchQueue.getSpecific(key: key))
        }
        #expect(try await seen.values(1) == ["mine"])
    }

    @Test func `the main queue may be the root queue`() async throws {
        let seen = Recorder<Bool>()
        let session = Session(
            transport: StubTransport { _ in .text("x") }, rootQueue: .main,
            interceptor: Adapter { request, _, completion in
                dispatchPrecondition(condition: .onQueue(.main))
                completion(.success(request))
            })
        session.request(address).response { seen.record($0.error == nil) }
        #expect(try await seen.values(1) == [true])
        session.withAllRequests { _ in
            dispatchPrecondition(condition: .onQueue(.main))
            seen.record(true)
        }
        try await seen.values(2)
    }

    @Test(arguments: [Session.CallbackDelivery.queued, .inline])
    func `several handlers are called once each, in order`(
        delivery: Session.CallbackDelivery
    ) async throws {
        let (session, transport) = session(.json("[1]"), delivery: delivery)
        let seen = Recorder<String>()
        session.request(address)
            .responseData { _ in seen.record("data") }
            .responseString { _ in seen.record("string") }
            .responseDecodable(of: [Int].self) { seen.record("\($0.value ?? [])") }
        #expect(try await seen.values(3) == ["data", "string", "[1]"])
        #expect(transport.requests.count == 1)
    }

    @Test func `a handler added to a finished request is called without another transfer`()
        async throws
    {
        let (session, transport) = session(.text("once"))
        let request = session.request(address)
        #expect(await request.serializingString().response.value == "once")
        #expect(await request.serializingString().response.value == "once")
        #expect(transport.requests.count == 1)
        #expect(request.isFinished)
    }

    @Test func `a request without a handler does not start by itself`() {
        let (session, transport) = session(.text("x"))
        let request = session.request(address)
        #expect(request.isInitialized)
        #expect(transport.requests.isEmpty)
    }

    @Test func `without startRequestsImmediately a request waits for resume`() async throws {
        let transport = StubTransport { _ in .text("x") }
        let session = Session(transport: transport, startRequestsImmediately: false)
        let seen = Recorder<Int>()
        let request = session.request(address).responseData { _ in seen.record(1) }
        #expect(request.isInitialized)
        request.resume()
        try await seen.values(1)
    }

    @Test func `an empty body is a failure unless the method or status allows it`() async {
        let (ok, _) = session(.status(200))
        let failed = await ok.request(address).serializingData().response
        guard case .responseSerializationFailed(.inputDataNilOrZeroLength)? = failed.error else {
            Issue.record("\(failed)")
            return
        }
        let (noContent, _) = session(.status(204))
        #expect(await noContent.request(address).serializingData().response.value == Data())
        #expect(
            await ok.request(address, method: .head).serializingData().response.value == Data())
    }

    @Test func `the error for JSON that cannot be decoded has the coding path`() async {
        let (session, _) = session(.json(#"{"a": "text"}"#))
        let response = await session.request(address)
            .serializingDecodable([String: Int].self).response
        #expect(response.error?.isResponseSerializationError == true)
        #expect("\(response.error.map { "\($0)" } ?? "")".contains(".a"))
    }

    @Test func `an invalid URL fails without a transfer`() async {
        let (session, transport) = session(.text("x"))
        let response = await session.request("").serializingData().response
        #expect(response.error?.isInvalidURLError == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func `a GET with a body is refused unless allowsBodyInGET is set`() async {
        let (session, transport) = session(.text("x"))
        var request = HTTPRequest(url: URL(string: address), body: .data(Data("b".utf8)))
        let refused = await session.request(request).serializingData().response
        #expect(refused.error?.isURLRequestValidationError == true)
        #expect(transport.requests.isEmpty)
        request.allowsBodyInGET = true
        #expect(await session.request(request).serializingString().response.value == "x")
    }

    @Test(arguments: ["line\r\nbreak", "nul\0"])
    func `a header value that would split the request is refused`(value: String) async {
        let (session, transport) = session(.text("x"))
        let response = await session.request(address, headers: ["X-A": value])
            .serializingData().response
        #expect(response.error?.isURLRequestValidationError == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func `the response of a failed transfer has its error`() async {
        let error = TransferError(code: .cannotConnectToHost, host: "h", reason: "refused")
        let (session, _) = session(.failure(error))
        let response = await session.request(address).serializingData().response
        #expect(response.error?.transferError == error)
        #expect(response.response == nil)
    }

    @Test func `a released session ends its requests and calls each handler once`() async throws {
        let transport = StubTransport { _ in .silence }
        var session: Session? = Session(transport: transport)
        let seen = Recorder<SessionError?>()
        session?.request(address).responseData { seen.record($0.error) }
        session = nil
        let errors = try await seen.values(1)
        #expect(errors.first??.isSessionDeinitializedError == true)
    }
}

extension DataTask {
    /// The value; `nil` after an error.
    fileprivate var value1: Value? {
        get async { try? await value }
    }
}

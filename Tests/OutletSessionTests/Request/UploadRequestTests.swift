import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Synchronization
import Testing

/// Records the events of an upload's body.
private struct UploadMonitor: EventMonitor {
    let seen = Recorder<String>()

    func request(
        _ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable
    ) { seen.record("created") }

    func request(
        _ request: UploadRequest, didFailToCreateUploadableWithError error: SessionError
    ) { seen.record("failed") }

    func request(_ request: UploadRequest, didProvideInputStream stream: any BodyStream) {
        seen.record("again")
    }

    func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest) {
        seen.record("request")
    }
}

/// Throws at the first `failures` calls, then returns data.
private final class Flaky: UploadableConvertible {
    struct NotYet: Error {}
    private let calls = Atomic(0)
    private let failures: Int

    init(failures: Int) { self.failures = failures }

    var count: Int { calls.load(ordering: .relaxed) }

    func createUploadable() throws -> UploadRequest.Uploadable {
        let call = calls.add(1, ordering: .relaxed).newValue
        guard call > failures else { throw NotYet() }
        return .data(Data("call \(call)".utf8))
    }
}

private struct FlakyUpload: UploadConvertible {
    let uploadable: Flaky

    func createUploadable() throws -> UploadRequest.Uploadable {
        try uploadable.createUploadable()
    }

    func asURLRequest() throws -> HTTPRequest {
        HTTPRequest(url: URL(string: "http://example.test/post"), method: .put)
    }
}

/// Makes its file after the request has ended.
private struct LateFile: UploadableConvertible {
    let url: URL
    let asked: Gate
    let ended: Gate

    func createUploadable() throws -> UploadRequest.Uploadable {
        asked.open()
        _ = ended.isOpen(within: .seconds(60))
        try Data("file".utf8).write(to: url)
        return .file(url, shouldRemove: true)
    }
}

private struct LateUpload: UploadConvertible {
    let file: LateFile

    func createUploadable() throws -> UploadRequest.Uploadable { try file.createUploadable() }

    func asURLRequest() throws -> HTTPRequest {
        HTTPRequest(url: URL(string: "http://example.test/post"), method: .post)
    }
}

@Suite struct UploadRequestTests {
    let address = "http://example.test/post"
    private let retryOnce = Retrier { request, _, _, completion in
        completion(request.retryCount == 0 ? .retry : .doNotRetry)
    }
    private let lost = StubAnswer.failure(
        TransferError(code: .networkConnectionLost, reason: "lost"))

    private func temporaryFile(_ text: String) throws -> URL {
        let url = FileManager.default.temporaryDirectory
            .appending(path: "upload-test-\(UUID().uuidString)")
        try Data(text.utf8).write(to: url)
        return url
    }

    private func texts(_ transport: StubTransport) -> [String] {
        transport.bodies.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `bytes, a file and a stream are sent, by default as POST`()
        async throws
    {
        let transport = StubTransport(answers: [.text("ok")])
        let session = Session(transport: transport)
        let file = try temporaryFile("file")
        defer { try? FileManager.default.removeItem(at: file) }
        let requests = [
            session.upload(Data("data".utf8), to: address),
            session.upload(file, to: address, method: .put),
            session.upload(TestStream("stream"), to: address),
        ]
        for request in requests {
            #expect(await request.serializingString().response.value == "ok")
        }
        #expect(texts(transport) == ["data", "file", "stream"])
        #expect(transport.requests.map(\.method) == [.post, .put, .post])
        #expect(FileManager.default.fileExists(atPath: file.path))
    }

    @Test func `a given request is sent with the body`() async {
        let transport = StubTransport(answers: [.text("ok")])
        let session = Session(transport: transport)
        let request = HTTPRequest(
            url: URL(string: address), method: .patch, headers: ["X-Own": "yes"])
        _ = await session.upload(Data("data".utf8), with: request).serializingData().response
        #expect(transport.requests.first?.method == .patch)
        #expect(transport.requests.first?.headers["X-Own"] == "yes")
        #expect(texts(transport) == ["data"])
    }

    @Test(arguments: [307, 308])
    func `a stream is rewound when a redirect sends it again`(code: Int)
        async throws
    {
        let transport = StubTransport(answers: [.redirect(code, to: "/to"), .text("ok")])
        let monitor = UploadMonitor()
        let session = Session(transport: transport, eventMonitors: [monitor])
        let stream = TestStream("stream")
        let response = await session.upload(stream, to: address).serializingString().response
        #expect(response.value == "ok")
        #expect(texts(transport) == ["stream", "stream"])
        #expect(stream.rewinds == 1)
        #expect(try await monitor.seen.values(3) == ["created", "request", "again"])
    }

    @Test func `a stream is rewound for a retry, also after a redirect`() async {
        let transport = StubTransport(answers: [
            .redirect(303, to: "/to"), lost, .text("ok"),
        ])
        let session = Session(transport: transport, interceptor: retryOnce)
        let stream = TestStream("stream")
        let response = await session.upload(stream, to: address).serializingString().response
        #expect(response.value == "ok")
        #expect(texts(transport) == ["stream", "", "stream"])
        #expect(stream.rewinds == 1)
    }

    @Test func `a stream that cannot be rewound ends the request with an error`() async {
        for answers in [[StubAnswer.redirect(307, to: "/to")], [lost]] {
            let transport = StubTransport(answers: answers)
            let session = Session(transport: transport, interceptor: retryOnce)
            let stream = TestStream("stream", canRewind: false)
            let response = await session.upload(stream, to: address).serializingData().response
            #expect(response.error?.transferError?.code == .requestBodyStreamExhausted)
            #expect("\(response.error.map { "\($0)" } ?? "")".contains("Gone"))
            #expect(transport.requests.count == 1)
        }
    }

    @Test func `a body that cannot be created is a createUploadable error, and may be retried`()
        async throws
    {
        let transport = StubTransport(answers: [.text("ok")])
        let monitor = UploadMonitor()
        let session = Session(transport: transport, eventMonitors: [monitor])
        let failed = await session.upload(FlakyUpload(uploadable: Flaky(failures: 1)))
            .serializingString().response
        #expect(failed.error?.isCreateUploadableError == true)
        #expect(failed.error?.underlyingError is Flaky.NotYet)
        #expect(try await monitor.seen.values(1) == ["failed"])
        #expect(transport.requests.isEmpty)

        let flaky = Flaky(failures: 1)
        let retried = await session.upload(
            FlakyUpload(uploadable: flaky), interceptor: retryOnce
        ).serializingString().response
        #expect(retried.value == "ok")
        #expect(flaky.count == 2)
        #expect(texts(transport) == ["call 2"])
    }

    @Test(arguments: [0, 2])
    func `a description of an attempt creates its body, which it still has then`(failures: Int) {
        let session = Session(
            transport: StubTransport(answers: []), startRequestsImmediately: false)
        let flaky = Flaky(failures: failures)
        let request = session.upload(FlakyUpload(uploadable: flaky))
        let made = HTTPRequest(url: URL(string: "http://example.test/post"), method: .put)
        for _ in 1...2 {
            #expect(request.wireRequest(of: made).body.isNone == (failures > 0))
        }
        #expect(flaky.count == 1)
    }

    @Test func `the body is created again at every attempt`() async {
        let transport = StubTransport(answers: [lost, .text("ok")])
        let session = Session(transport: transport, interceptor: retryOnce)
        _ = await session.upload(FlakyUpload(uploadable: Flaky(failures: 0)))
            .serializingData().response
        #expect(texts(transport) == ["call 1", "call 2"])
    }

    private struct FileUpload: UploadConvertible {
        let url: URL
        func createUploadable() throws -> UploadRequest.Uploadable {
            .file(url, shouldRemove: true)
        }
        func asURLRequest() throws -> HTTPRequest {
            HTTPRequest(url: URL(string: "http://example.test/post"), method: .post)
        }
    }

    @Test func `a file with shouldRemove is deleted before the completion is called`()
        async throws
    {
        for answer in [StubAnswer.text("ok"), lost] {
            let file = try temporaryFile("file")
            let transport = StubTransport(answers: [answer])
            let session = Session(transport: transport)
            _ = await session.upload(FileUpload(url: file)).serializingData().response
            #expect(texts(transport) == ["file"])
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
    }

    @Test func `a file with shouldRemove that is made after a cancel is deleted`() async throws {
        let directory = try TemporaryDirectory()
        let file = LateFile(
            url: directory.url.appending(path: "file"), asked: try Gate(), ended: try Gate())
        let queue = DispatchQueue(label: "requests")
        let session = Session(
            transport: StubTransport(answers: [.text("ok")]), requestQueue: queue)
        let task = session.upload(LateUpload(file: file)).serializingData()
        try await file.asked.opened()
        task.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
        file.ended.open()
        await queue.drained()
        #expect(directory.names == [])
    }

    @Test func `a URL that is not a file URL sends no file of this machine`() async throws {
        let transport = StubTransport { _ in .status(200) }
        let file = try #require(URL(string: "https://user:secret@a.test/etc/hostname?x#y"))
        let session = Session(transport: transport)
        let response = await session.upload(file, to: "http://b.test/").serializingData().response
        #expect(transport.requests.isEmpty)
        let error = try #require(response.error)
        #expect(error.isCreateUploadableError)
        #expect("\(error)".contains("@a.test/etc/hostname?x#y: not a file URL"), "\(error)")
        #expect(!"\(error)".contains("secret"))
    }

    @Test func `a missing file fails the request`() async {
        let session = Session(transport: StubTransport(answers: [.text("ok")]))
        let response = await session.upload(URL(filePath: "/nowhere/file"), to: address)
            .serializingData().response
        #expect(response.error?.transferError?.code == .cannotOpenFile)
    }

    @Test func `an upload as GET is sent with its body`() async {
        let transport = StubTransport(answers: [.redirect(to: "/to"), .text("ok")])
        let session = Session(transport: transport)
        let response = await session.upload(Data("data".utf8), to: address, method: .get)
            .serializingString().response
        #expect(response.value == "ok")
        #expect(texts(transport) == ["data", "data"])
    }

    @Test func `adapters get the request without the body`() async {
        let seen = Recorder<Bool>()
        let session = Session(
            transport: StubTransport(answers: [.text("ok")]),
            interceptor: Adapter { request, _, completion in
                seen.record(request.body.isNone)
                completion(.success(request))
            })
        let request = session.upload(Data("data".utf8), to: address)
        _ = await request.serializingData().response
        #expect(seen.values == [true])
        #expect(request.request?.body.isNone == true)
        guard case .data(let data)? = request.uploadable else {
            Issue.record("\(String(describing: request.uploadable))")
            return
        }
        #expect(data == Data("data".utf8))
    }

    @Test func `the progress of an upload ends at the total`() async throws {
        let session = Session(transport: StubTransport(answers: [.text("ok")]))
        let seen = Recorder<TransferProgress>()
        let request = session.upload(Data(count: 20_000), to: address)
            .uploadProgress { seen.record($0) }
        _ = await request.serializingData().response
        #expect(try await seen.values(2).last?.fractionCompleted == 1)
    }
}

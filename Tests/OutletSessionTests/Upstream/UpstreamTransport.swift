import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Replaces a `URLProtocol` class: sees each request before another transport performs it.
private final class TaggingTransport: Transport {
    private let inner: any Transport
    let seen = Recorder<String>()

    init(_ inner: any Transport) { self.inner = inner }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        var job = job
        job.request.headers.add(name: "X-Tagged", value: "yes")
        seen.record(job.request.url?.path ?? "")
        return inner.start(job, handler: handler)
    }

    func connect(_ job: WebSocketJob, handler: any WebSocketHandler) -> any WebSocketConnection {
        inner.connect(job, handler: handler)
    }

    func shutDown() { inner.shutDown() }
}

/// Tests user-defined transports, which replace `URLProtocol` classes.
@Suite(.timeLimit(.minutes(3))) struct UpstreamTransportTests {
    @Test func `a custom transport gets each hop of each kind of request`() async throws {
        let network = StubTransport { job in
            guard job.request.headers["X-Tagged"] == "yes" else { return .status(400) }
            return job.request.url?.path == "/from" ? .redirect(to: "/to") : .text("x")
        }
        let transport = TaggingTransport(network)
        let session = Session(transport: transport)
        let url = "http://example.test/from"
        #expect(await session.request(url).validate().serializingString().response.value == "x")
        let downloaded = await session.download(url).validate().serializingString().response
        #expect(downloaded.value == "x")
        downloaded.removeFiles()
        var text = ""
        let stream = session.streamRequest(url).validate().streamTask()
        for await piece in stream.streamingStrings().compactMap(\.value) { text += piece }
        #expect(text == "x")
        let upload = session.upload(Data("body".utf8), to: "http://example.test/to")
        let response = await upload.validate().serializingString().response
        #expect(response.value == "x")
        // The request does not contain fields that the transport has added.
        #expect(response.request?.headers["X-Tagged"] == nil)
        #expect(
            transport.seen.values == ["/from", "/to", "/from", "/to", "/from", "/to", "/to"])
    }

    @Test func `a custom transport gets the fields of the request and the session`() async throws {
        let network = StubTransport { _ in .text("x") }
        var configuration = URLSessionConfiguration.af.default
        configuration.headers["Session-Configuration-Header"] = "foo"
        let session = Session(
            transport: TaggingTransport(network), configuration: configuration)
        var urlRequest = try URLRequest(url: "http://example.test/", method: .get)
        urlRequest.setValue("foobar", forHTTPHeaderField: "Request-Header")
        #expect(await session.request(urlRequest).serializingString().response.value == "x")
        let seen = try #require(network.requests.first)
        #expect(seen.headers["Request-Header"] == "foobar")
        #expect(seen.headers["Session-Configuration-Header"] == "foo")
    }

    @Test func `sessions, requests and handlers are released when they have ended`()
        async
    {
        weak var session: Session?
        weak var request: DataRequest?
        weak var interceptor: Interceptor?
        weak var transport: TaggingTransport?
        do {
            let carrier = TaggingTransport(StubTransport { _ in .text("x") })
            let adapting = Interceptor(adapters: [Adapter { $2(.success($0)) }])
            let made = Session(transport: carrier, interceptor: adapting)
            let sent = made.request("http://example.test/")
            sent.validate().downloadProgress { _ in _ = sent.retryCount }
            #expect(await sent.serializingString().response.value == "x")
            (session, request, interceptor, transport) = (made, sent, adapting, carrier)
        }
        while session != nil || request != nil || interceptor != nil || transport != nil,
            !Task.isCancelled
        {
            await Task.yield()
        }
        #expect(session == nil && request == nil && interceptor == nil && transport == nil)
    }
}

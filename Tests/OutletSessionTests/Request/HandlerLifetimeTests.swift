import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct `Lifetime of handlers` {
    private let address = "http://example.test/"

    /// Stores the completion handlers that a closure was called with.
    private typealias Kept = Recorder<@Sendable (Request.ResponseDisposition) -> Void>

    @Test func `a completion handler is released after it has run`() async throws {
        weak var former: DataRequest?
        let session = Session(transport: StubTransport { _ in .text("x") })
        let seen = Recorder<Int>()
        do {
            let request = session.request(address)
            request.response { _ in seen.record(request.retryCount) }
            try await seen.values(1)
            former = request
        }
        await expectGone { former == nil }
    }

    @Test func `a stream handler is released after the end of the stream`() async throws {
        weak var former: DataStreamRequest?
        let session = Session(transport: StubTransport { _ in .text("x") })
        let ends = Recorder<Int>()
        do {
            let request = session.streamRequest(address)
            request.responseStream { stream in
                if stream.completion != nil { ends.record(request.retryCount) }
            }
            try await ends.values(1)
            former = request
        }
        await expectGone { former == nil }
    }

    @Test func `a message handler is released after the end of a WebSocket`() async throws {
        weak var former: WebSocketRequest?
        let session = Session(
            transport: StubTransport { _ in .webSocket([.close(.normalClosure)]) })
        let ends = Recorder<Int>()
        do {
            let request = session.webSocketRequest(to: "ws://example.test/")
            request.streamMessageEvents { event in
                if case .completed = event.kind { ends.record(request.retryCount) }
            }
            try await ends.values(1)
            former = request
        }
        await expectGone { former == nil }
    }

    @Test(arguments: [false, true])
    func `observing closures are released at the end of the request`(isCancelled: Bool) async throws
    {
        weak var former: DataRequest?
        let session = Session(
            transport: StubTransport { _ in isCancelled ? .silence : .text("x") })
        do {
            let request = session.request(address)
            request.downloadProgress { _ in _ = request.retryCount }
                .uploadProgress { _ in _ = request.retryCount }
                .onURLRequestCreation { _ in _ = request.retryCount }
                .onURLSessionTaskCreation { _ in _ = request.retryCount }
                .onHTTPResponse { _ in _ = request.retryCount }
                .onInformationalResponse { _ in _ = request.retryCount }
                .cURLDescription { _ in _ = request.retryCount }
            let task = request.serializingData()
            if isCancelled { request.cancel() }
            _ = await task.response
            former = request
        }
        await expectGone { former == nil }
    }

    @Test(arguments: [Request.ResponseDisposition.allow, .cancel, nil])
    func `the completion handler of onHTTPResponse does not retain the request after the decision`(
        answer: Request.ResponseDisposition?
    ) async throws {
        weak var former: DataRequest?
        let session = Session(transport: StubTransport { _ in .text("x") })
        do {
            let kept = Kept()
            let request = session.request(address)
                .onHTTPResponse { (_, completionHandler) in kept.record(completionHandler) }
            let task = request.serializingData()
            let completionHandler = try await kept.values(1)[0]
            if let answer { completionHandler(answer) } else { request.cancel() }
            _ = await task.response
            former = request
        }
        await expectGone { former == nil }
    }

    @Test func `validators are released at the end of the request`() async throws {
        weak var data: DataRequest?
        weak var download: DownloadRequest?
        weak var stream: DataStreamRequest?
        weak var socket: WebSocketRequest?
        let session = Session(
            transport: StubTransport { job in
                job.request.url?.path() == "/socket"
                    ? .webSocket([.close(.normalClosure)]) : .text("x")
            })
        do {
            let request = session.request(address)
            request.validate { _, _, _ in
                _ = request.retryCount
                return .success(())
            }
            _ = await request.serializingData().response
            data = request
        }
        do {
            let request = session.download(address)
            request.validate { _, _, _ in
                _ = request.retryCount
                return .success(())
            }
            await request.serializingDownloadedFileURL().response.removeFiles()
            download = request
        }
        do {
            let request = session.streamRequest(address)
            request.validate { _, _ in
                _ = request.retryCount
                return .success(())
            }
            for await _ in request.streamTask().streamingData() {}
            stream = request
        }
        do {
            let request = session.webSocketRequest(to: "ws://example.test/socket")
            request.validate { _, _ in
                _ = request.retryCount
                return .success(())
            }
            for await _ in request.webSocketTask().streamingMessageEvents() {}
            socket = request
        }
        await expectGone { data == nil && download == nil && stream == nil && socket == nil }
    }

    @Test func `validators are kept while a retrier may send the request again`() async throws {
        let answers = Recorder<Int>()
        let session = Session(
            transport: StubTransport { _ in
                answers.record(1)
                return answers.count == 1 ? .text("x") : .status(503)
            },
            interceptor: Retrier { request, _, _, completion in
                completion(request.retryCount == 0 ? .retry : .doNotRetry)
            })
        let request = session.request(address).validate()
        #expect(await request.serializingData().response.error == nil)
        // Cannot be decoded, so that the request is sent again.
        let late = await request.serializingDecodable(Int.self).response
        #expect(late.error?.responseCode == 503)
    }

    /// A request with a redirect handler that captures it.
    private func captured<Kind: Request>(by request: Kind) -> Kind {
        request.redirect(
            using: Redirector(
                behavior: .modify { _, next, _ in
                    _ = request.retryCount
                    return next
                })
        )
    }

    /// How the request ends.
    enum End: CaseIterable { case response, cancel, session }

    @Test(arguments: End.allCases, [false, true])
    func `a redirect handler is released at the end of the request`(
        end: End, isRetried: Bool
    ) async throws {
        weak var data: DataRequest?
        weak var download: DownloadRequest?
        weak var stream: DataStreamRequest?
        let transport = StubTransport { _ in end == .response ? .text("x") : .silence }
        let retrier = Retrier { _, _, _, completion in completion(.doNotRetry) }
        var session: Session? = Session(
            transport: transport, interceptor: isRetried ? retrier : nil)
        let ends = Recorder<Int>()
        do {
            let made = try #require(session)
            let (request, loading, streaming) = (
                captured(by: made.request(address)), captured(by: made.download(address)),
                captured(by: made.streamRequest(address))
            )
            request.response { _ in ends.record(1) }
            loading.response { response in
                response.removeFiles()
                ends.record(1)
            }
            streaming.responseStream { if $0.completion != nil { ends.record(1) } }
            if end == .cancel {
                for request in [request, loading, streaming] { request.cancel() }
            }
            (data, download, stream) = (request, loading, streaming)
        }
        if end == .session { session = nil }
        try await ends.values(3)
        await expectGone { download == nil && stream == nil }
        // A retrier could send the request of a response again, for another handler.
        if !isRetried || end != .response { await expectGone { data == nil } }
        withExtendedLifetime(session) {}
    }

    @Test func `a redirect handler is kept while a retrier may send the request again`()
        async throws
    {
        let session = Session(
            transport: StubTransport { job in
                job.request.url?.path() == "/"
                    ? StubAnswer(statusCode: 302, headers: ["Location": "/next"]) : .text("x")
            },
            interceptor: Retrier { request, _, _, completion in
                completion(request.retryCount == 0 ? .retry : .doNotRetry)
            })
        let request = session.request(address).redirect(using: Redirector(behavior: .doNotFollow))
        #expect(await request.serializingData(emptyResponseCodes: [302]).response.error == nil)
        // Cannot be decoded, so that the request is sent again.
        let late = await request.serializingDecodable(Int.self).response
        #expect(request.retryCount == 1)
        #expect(late.response?.statusCode == 302)
    }

    /// Waits until `isGone` returns `true`: other threads may still finish the request.
    private func expectGone(_ isGone: () -> Bool) async {
        let deadline = ContinuousClock.now + .seconds(60) * patience
        while !isGone(), ContinuousClock.now < deadline, !Task.isCancelled { await Task.yield() }
        #expect(isGone())
    }
}

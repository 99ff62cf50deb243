import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct `Requests that are not started` {
    private let address = "http://example.test/"

    private func session() -> Session {
        Session(transport: StubTransport { _ in .text("x") }, startRequestsImmediately: false)
    }

    @Test func `handlers of released requests are called at the end of the session`()
        async throws
    {
        let ends = Recorder<String>()
        do {
            let session = session()
            session.request(address).response { _ in ends.record("data") }
            session.upload(Data("x".utf8), to: address).response { _ in ends.record("upload") }
            session.download(address).response { _ in ends.record("download") }
            session.streamRequest(address).responseStream { stream in
                if stream.completion != nil { ends.record("stream") }
            }
            session.webSocketRequest(to: "ws://example.test/").streamMessageEvents { event in
                if case .completed = event.kind { ends.record("socket") }
            }
            session.webSocketRequest(to: "ws://example.test/").send(.string("x")) { _ in
                ends.record("send")
            }
            session.request(address).cURLDescription { _ in ends.record("curl") }
            #expect(ends.count == 0)
            withExtendedLifetime(session) {}
        }
        let all = ["curl", "data", "download", "send", "socket", "stream", "upload"]
        #expect(try await ends.values(all.count).sorted() == all)
    }

    @Test func `a closure that waits for a curl command is called at the end of the session`()
        async throws
    {
        let commands = Recorder<String>()
        let request: DataRequest
        do {
            let session = Session(transport: StubTransport { _ in .text("x") })
            request = session.request(address).cURLDescription { commands.record($0) }
            withExtendedLifetime(session) {}
        }
        #expect(try await commands.values(1) == ["$ curl command could not be created"])
        #expect(request.error?.isSessionDeinitializedError == true)
    }

    /// A closure of a request, which captures it.
    enum Closure: CaseIterable {
        case curl, request, transfer, head, informational, upload, download, handler

        func add(to request: DataRequest) {
            let touch: @Sendable () -> Void = { _ = request.retryCount }
            switch self {
            case .curl: request.cURLDescription { _ in touch() }
            case .request: request.onURLRequestCreation { _ in touch() }
            case .transfer: request.onURLSessionTaskCreation { _ in touch() }
            case .head: request.onHTTPResponse { _ in touch() }
            case .informational: request.onInformationalResponse { _ in touch() }
            case .upload: request.uploadProgress { _ in touch() }
            case .download: request.downloadProgress { _ in touch() }
            case .handler: request.response { _ in touch() }
            }
        }
    }

    @Test(arguments: Closure.allCases)
    func `a closure that captures its request is released at the end of the session`(
        closure: Closure
    ) async throws {
        weak var former: DataRequest?
        do {
            let session = session()
            let request = session.request(address)
            closure.add(to: request)
            former = request
            withExtendedLifetime(session) {}
        }
        await expectGone { former == nil }
    }

    @Test(arguments: Closure.allCases)
    func `a request that is cancelled, or ends after a late start, is released`(
        closure: Closure
    ) async throws {
        let session = session()
        weak var cancelled: DataRequest?
        weak var started: DataRequest?
        do {
            let request = session.request(address)
            closure.add(to: request)
            request.cancel()
            cancelled = request
        }
        do {
            let request = session.request(address)
            closure.add(to: request)
            request.resume()
            started = request
        }
        await expectGone { cancelled == nil && started == nil }
        withExtendedLifetime(session) {}
    }

    @Test func `a request without handlers is released with its last reference`() {
        let session = session()
        weak var former: DataRequest?
        do {
            let request = session.request(address).onURLRequestCreation { _ in }
                .downloadProgress { _ in }
            former = request
        }
        #expect(former == nil)
        withExtendedLifetime(session) {}
    }

    @Test func `a retained request is no active one, and a shutdown does not wait for it`()
        async throws
    {
        let session = session()
        let ends = Recorder<Int>()
        session.request(address).response { _ in ends.record(1) }
        let active = Recorder<Int>()
        session.withAllRequests { active.record($0.count) }
        #expect(try await active.values(1) == [0])
        let report = await session.shutDown(deadline: .seconds(3600))
        #expect(report.finished == 0 && report.cut == 0)
        try await ends.values(1)
    }

    /// Waits until `isGone` returns `true`: other threads may still finish the request.
    private func expectGone(_ isGone: () -> Bool) async {
        let deadline = ContinuousClock.now + .seconds(60) * patience
        while !isGone(), ContinuousClock.now < deadline, !Task.isCancelled { await Task.yield() }
        #expect(isGone())
    }
}

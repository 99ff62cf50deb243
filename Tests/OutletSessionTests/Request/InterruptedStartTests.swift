import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletLayers
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests calls to a request while the transport starts its job and the request has no task yet.
@Suite(.timeLimit(.minutes(patience))) struct InterruptedStartTests {
    /// A kind of request, created without being started.
    enum Kind: CaseIterable {
        case data, upload, download, stream, webSocket

        func make(_ session: Session, _ ended: Recorder<SessionError?>) -> Request {
            let url = "http://example.test/slow"
            switch self {
            case .data:
                return session.request(url).response { ended.record($0.error) }
            case .upload:
                return session.upload(Data("x".utf8), to: url).response { ended.record($0.error) }
            case .download:
                return session.download(url).response { response in
                    response.removeFiles()
                    ended.record(response.error)
                }
            case .stream:
                return session.streamRequest(url).responseStream { stream in
                    if let completion = stream.completion { ended.record(completion.error) }
                }
            case .webSocket:
                return session.webSocketRequest(to: "ws://example.test/chat")
                    .streamMessageEvents { event in
                        if case .completed(let completion) = event.kind {
                            ended.record(completion.error)
                        }
                    }
            }
        }
    }

    private let ended = Recorder<SessionError?>()
    private let gate = StubGate()

    /// Responds after the gate is opened; a WebSocket closes after it receives a message.
    private var gated: InterruptingTransport {
        InterruptingTransport { [gate] job in
            job.request.url?.path == "/chat"
                ? .webSocket([.receive, .close(.normalClosure)])
                : .text("x").waiting(atByte: 0, for: gate)
        }
    }

    /// Lets the transfers of ``gated`` finish.
    private func goOn(_ request: Request) {
        gate.open()
        (request as? WebSocketRequest)?.send(.string("go")) { _ in }
    }

    private func session(
        _ transport: any Transport, cache: Bool = false, coalesces: Bool = false,
        interceptor: (any RequestInterceptor)? = nil
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.urlCache = cache ? ResponseCache() : nil
        configuration.coalescesRequests = coalesces
        return Session(
            transport: transport, configuration: configuration, startRequestsImmediately: false,
            interceptor: interceptor)
    }

    /// Returns a transport that never responds; it accepts WebSockets, which stay silent.
    private func silent() -> InterruptingTransport {
        InterruptingTransport { job in
            job.request.url?.path == "/chat" ? .webSocket([.echo]) : .silence
        }
    }

    @Test(arguments: Kind.allCases, [false, true])
    func `a cancel during the start of a transfer cancels the transfer`(kind: Kind, cache: Bool)
        async throws
    {
        let transport = silent()
        let session = session(transport, cache: cache)
        let request = kind.make(session, ended)
        transport.interrupt { request.cancel() }
        request.resume()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        let task = try await transport.tasks.values(1)[0]
        while task.state != .completed, !Task.isCancelled { await Task.yield() }
        #expect(ended.values.count == 1)
        #expect(request.isCancelled)
    }

    @Test(arguments: Kind.allCases, [false, true])
    func `a suspend during the start of a transfer suspends the transfer`(kind: Kind, cache: Bool)
        async throws
    {
        let transport = gated
        let session = session(transport, cache: cache)
        let request = kind.make(session, ended)
        let held = Recorder<Bool>()
        transport.interrupt {
            request.suspend()
            held.record(true)
        }
        request.resume()
        try await held.values(1)
        let task = try await transport.tasks.values(1)[0]
        while task.state == .running, !Task.isCancelled { await Task.yield() }
        #expect(task.state == .suspended)
        #expect(request.isSuspended && ended.values.isEmpty)
        request.resume()
        goOn(request)
        #expect(try await ended.values(1)[0] == nil)
    }

    @Test func `a resume that overtakes a late suspend lets the transfer continue`() async throws {
        let transport = LateTransport(around: gated)
        let session = session(transport)
        let request = session.request("http://example.test/slow")
            .response { [ended] in ended.record($0.error) }
        transport.course.withLock { course in
            course.duringStart = { request.suspend() }
            course.beforeSuspend = { request.resume() }
        }
        request.resume()
        gate.open()
        #expect(try await ended.values(1)[0] == nil)
        transport.course.withLock { $0 = LateTransport.Course() }
    }

    @Test(arguments: Kind.allCases)
    func `a suspend and resume during the start lets the transfer continue`(kind: Kind) async throws
    {
        let transport = gated
        let session = session(transport)
        let request = kind.make(session, ended)
        transport.interrupt {
            request.suspend()
            request.resume()
        }
        request.resume()
        goOn(request)
        #expect(try await ended.values(1)[0] == nil)
    }

    @Test(arguments: [Kind.data, .upload, .download, .stream])
    func `a cancel during the start of a redirect's transfer cancels that transfer`(kind: Kind)
        async throws
    {
        let transport = InterruptingTransport { job in
            job.request.url?.path == "/slow" ? .redirect(307, to: "/next") : .silence
        }
        let session = session(transport)
        let request = kind.make(session, ended)
        transport.interrupt(start: 2) { request.cancel() }
        request.resume()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        let task = try await transport.latest(of: 2)
        while task.state != .completed, !Task.isCancelled { await Task.yield() }
        #expect(ended.values.count == 1)
    }

    @Test(arguments: [Kind.data, .upload, .download, .stream])
    func `a suspend during the start of a redirect's transfer suspends that transfer`(kind: Kind)
        async throws
    {
        let transport = InterruptingTransport { [gate] job in
            job.request.url?.path == "/slow"
                ? .redirect(307, to: "/next") : .text("x").waiting(atByte: 0, for: gate)
        }
        let session = session(transport)
        let request = kind.make(session, ended)
        transport.interrupt(start: 2) { request.suspend() }
        request.resume()
        let task = try await transport.latest(of: 2)
        while task.state == .running, !Task.isCancelled { await Task.yield() }
        #expect(task.state == .suspended)
        #expect(ended.values.isEmpty && request.isSuspended)
        request.resume()
        goOn(request)
        #expect(try await ended.values(1)[0] == nil)
    }

    @Test(arguments: Kind.allCases)
    func `a cancel during the start of a retry cancels it without another retry`(
        kind: Kind
    ) async throws {
        let transport = InterruptingTransport { _ in .failure(TransferErrors.lost) }
        let counting = Counting(until: 5)
        let session = session(transport, interceptor: counting)
        let request = kind.make(session, ended)
        transport.interrupt(start: 2) { request.cancel() }
        request.resume()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        #expect(counting.calls == [2, 1])
        #expect(transport.tasks.values.count <= 2)
    }

    @Test func `a progress closure added during the start of a transfer is called`() async throws {
        let transport = gated
        let session = session(transport)
        let seen = Recorder<Double>()
        let request = session.request("http://example.test/")
        transport.interrupt {
            request.downloadProgress { seen.record($0.fractionCompleted) }
        }
        request.response { self.ended.record($0.error) }.resume()
        goOn(request)
        try await ended.values(1)
        #expect(try await seen.values(1).last == 1)
    }

    // MARK: Shared transfers

    @Test func `a cancel of the only request of a shared transfer cancels it`() async throws {
        let transport = silent()
        let session = session(transport, coalesces: true)
        let request = Kind.data.make(session, ended)
        transport.interrupt { request.cancel() }
        request.resume()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        let task = try await transport.tasks.values(1)[0]
        while task.state != .completed, !Task.isCancelled { await Task.yield() }
    }

    @Test func `a suspend of the only request of a shared transfer suspends it`() async throws {
        let transport = gated
        let session = session(transport, coalesces: true)
        let request = Kind.data.make(session, ended)
        transport.interrupt { request.suspend() }
        request.resume()
        let task = try await transport.tasks.values(1)[0]
        while task.state == .running, !Task.isCancelled { await Task.yield() }
        #expect(task.state == .suspended && ended.values.isEmpty)
        request.resume()
        goOn(request)
        #expect(try await ended.values(1)[0] == nil)
    }

    @Test
    func `a request that joins during the start keeps the transfer when the first is cancelled`()
        async throws
    {
        let transport = gated
        let session = session(transport, coalesces: true)
        let first = Kind.data.make(session, ended)
        let others = Recorder<SessionError?>()
        let second = Kind.data.make(session, others)
        transport.interrupt {
            second.resume()
            first.cancel()
        }
        first.resume()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        gate.open()
        #expect(try await others.values(1)[0] == nil)
        #expect(transport.tasks.values.count == 1)
    }

    // MARK: Before asynchronous calls

    @Test(arguments: Kind.allCases)
    func `a cancel before the adapter call prevents it`(
        kind: Kind
    ) async throws {
        let transport = silent()
        let counting = Counting()
        let session = session(transport, interceptor: counting)
        let request = kind.make(session, ended)
        session.requestQueue.suspend()
        request.resume()
        request.cancel()
        session.requestQueue.resume()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        await session.requestQueue.drained()
        #expect(counting.calls == [0, 0])
        #expect(transport.tasks.values.isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func `a suspend before the adapter call leaves the request adapted but not sent`(
        kind: Kind
    ) async throws {
        let transport = InterruptingTransport { job in
            job.request.url?.path == "/chat" ? .webSocket([.close(.normalClosure)]) : .text("x")
        }
        let counting = Counting()
        let session = session(transport, interceptor: counting)
        let request = kind.make(session, ended)
        session.requestQueue.suspend()
        request.resume()
        request.suspend()
        session.requestQueue.resume()
        await session.requestQueue.drained()
        #expect(counting.calls == [1, 0])
        #expect(transport.tasks.values.isEmpty && request.isSuspended)
        request.resume()
        #expect(try await ended.values(1)[0] == nil)
        #expect(counting.calls == [1, 0])
    }

    @Test func `awaiting a cancelled request returns the cancellation error`() async {
        let transport = silent()
        let session = session(transport)
        let data = session.request("http://example.test/slow")
        data.cancel()
        #expect(await data.serializingData().response.error?.isExplicitlyCancelledError == true)
        let download = session.download("http://example.test/slow")
        download.cancel()
        let response = await download.serializingData().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(transport.tasks.values.isEmpty)
    }

    @Test func `awaiting a suspended request waits for its resume`()
        async throws
    {
        let transport = InterruptingTransport { _ in .text("x") }
        let session = Session(transport: transport, interceptor: Counting())
        session.requestQueue.suspend()
        let request = session.request("http://example.test/")
        let task = request.serializingString()
        request.suspend()
        session.requestQueue.resume()
        let value = Recorder<String>()
        let waiting = Task { value.record(try await task.value) }
        await session.requestQueue.drained()
        #expect(transport.tasks.values.isEmpty && value.values.isEmpty)
        request.resume()
        try await waiting.value
        #expect(value.values == ["x"])
    }

    @Test func `a cancel during the first start of a shared transfer cancels it`()
        async throws
    {
        let transport = InterruptingTransport { _ in .silence }
        let session = session(transport, coalesces: true)
        let request = Kind.data.make(session, ended)
        transport.interrupt(start: 1) { request.cancel() }
        request.resume()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        let task = try await transport.latest(of: 1)
        while task.state != .completed, !Task.isCancelled { await Task.yield() }
    }

    @Test func `a suspend during the start of a load after a disk cache miss suspends it`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let transport = gated
        var configuration = SessionConfiguration()
        let cache = ResponseCache(
            memoryCapacity: 0, diskCapacity: 1 << 20, directory: directory.url)
        configuration.urlCache = cache
        let session = Session(
            transport: transport, configuration: configuration, startRequestsImmediately: false)
        let request = Kind.data.make(session, ended)
        // Waits until the request has a task, whose transfer is still being started.
        transport.interrupt {
            while request.tasks.isEmpty { sched_yield() }
            request.suspend()
        }
        request.resume()
        let task = try await transport.tasks.values(1)[0]
        while task.state == .running, !Task.isCancelled { await Task.yield() }
        #expect(task.state == .suspended && ended.values.isEmpty)
        request.resume()
        goOn(request)
        #expect(try await ended.values(1)[0] == nil)
        // Pending writes must end before the directory is removed.
        cache.flush()
    }

    @Test func `a cancel during the start of a load after a disk cache miss cancels it`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let transport = silent()
        var configuration = SessionConfiguration()
        configuration.urlCache = ResponseCache(
            memoryCapacity: 0, diskCapacity: 1 << 20, directory: directory.url)
        let session = Session(
            transport: transport, configuration: configuration, startRequestsImmediately: false)
        let request = Kind.data.make(session, ended)
        transport.interrupt {
            while request.tasks.isEmpty { sched_yield() }
            request.cancel()
        }
        request.resume()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        let task = try await transport.tasks.values(1)[0]
        while task.state != .completed, !Task.isCancelled { await Task.yield() }
    }

    @Test func `a suspend during the first start of a shared transfer suspends it`() async throws {
        let transport = gated
        let session = session(transport, coalesces: true)
        let request = Kind.data.make(session, ended)
        transport.interrupt(start: 1) { request.suspend() }
        request.resume()
        let task = try await transport.latest(of: 1)
        while task.state == .running, !Task.isCancelled { await Task.yield() }
        #expect(task.state == .suspended && ended.values.isEmpty)
        request.resume()
        gate.open()
        #expect(try await ended.values(1)[0] == nil)
    }
}

/// Calls closures of a test while a transfer is started and before it is suspended.
private final class LateTransport: TransportLayer {
    struct Course: Sendable {
        var duringStart: (@Sendable () -> Void)?
        var beforeSuspend: (@Sendable () -> Void)?
    }

    let next: any Transport
    let course = Lock(Course())

    init(around next: any Transport) { self.next = next }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let task = LateTask(next.start(job, handler: handler), self)
        course.withLock { $0.duringStart.take() }?()
        return task
    }

    private final class LateTask: TransferTask {
        private let inner: any TransferTask
        private let transport: LateTransport

        init(_ inner: any TransferTask, _ transport: LateTransport) {
            self.inner = inner
            self.transport = transport
        }

        var identifier: UInt64 { inner.identifier }
        var currentRequest: HTTPRequest? { inner.currentRequest }
        var state: TransferState { inner.state }
        func cancel() { inner.cancel() }
        func resume() { inner.resume() }

        func suspend() {
            transport.course.withLock { $0.beforeSuspend.take() }?()
            inner.suspend()
        }
    }
}

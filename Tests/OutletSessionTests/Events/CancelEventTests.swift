import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests cancellation in each state of a request: the events, and that the request ends once.
@Suite(.timeLimit(.minutes(patience))) struct CancelEventTests {
    let address = "http://example.test/get"
    let recorder = EventRecorder()
    let ended = Recorder<SessionError?>()
    /// Retains the sessions: a session that is released ends its requests.
    let kept = Recorder<Session>()

    /// Records each call, and never calls the completion.
    private struct Mute: RequestInterceptor {
        var adapts = false
        let asked = Recorder<Int>()

        func adapt(
            _ request: HTTPRequest, for session: Session,
            completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
        ) { adapts ? asked.record(1) : completion(.success(request)) }

        func retry(
            _ request: Request, for session: Session, dueTo error: any Error,
            completion: @escaping @Sendable (RetryResult) -> Void
        ) { asked.record(1) }
    }

    private struct MuteRedirector: RedirectHandler {
        let asked = Recorder<Int>()

        func task(
            _ task: any TransferTask, willBeRedirectedTo request: HTTPRequest,
            for response: HTTPResponse, completion: @escaping @Sendable (HTTPRequest?) -> Void
        ) { asked.record(1) }
    }

    private func session(_ answer: StubAnswer) -> Session {
        let session = Session(
            transport: StubTransport { _ in answer }, eventMonitors: [recorder])
        kept.record(session)
        return session
    }

    /// Cancels the request, and returns the events since the cancellation.
    private func end(_ request: DataRequest) async throws -> [String] {
        request.cancel()
        let errors = try await ended.values(1)
        #expect(errors.first??.isExplicitlyCancelledError == true)
        let events = try await recorder.requestEvents()
        #expect(request.isCancelled)
        let cancel = try #require(events.firstIndex(of: "didCancel"))
        return Array(events[cancel...])
    }

    @Test func `events of a cancel before the start`() async throws {
        let request = session(.text("x")).request(address, shouldAutomaticallyResume: false)
            .response { ended.record($0.error) }
        #expect(try await end(request) == ["didCancel", "didFinish", "didParseResponse"])
    }

    @Test func `events of a cancel during an adapter call`() async throws {
        let mute = Mute(adapts: true)
        let request = session(.text("x")).request(address, interceptor: mute)
            .response { ended.record($0.error) }
        try await mute.asked.values(1)
        #expect(try await end(request) == ["didCancel", "didFinish", "didParseResponse"])
    }

    @Test func `events of a cancel during the transfer`() async throws {
        let request = session(.silence).request(address).response { ended.record($0.error) }
        while request.task == nil, !Task.isCancelled { await Task.yield() }
        #expect(
            try await end(request) == [
                "didCancel", "didCancelTask", "didGatherMetrics", "didCompleteTask",
                "didFinish", "didParseResponse",
            ])
        #expect(request.metrics != nil)
    }

    @Test func `events of a cancel of a suspended transfer`() async throws {
        let request = session(.silence).request(address).response { ended.record($0.error) }
        while request.task == nil, !Task.isCancelled { await Task.yield() }
        request.suspend()
        #expect(
            try await end(request) == [
                "didCancel", "didCancelTask", "didGatherMetrics", "didCompleteTask",
                "didFinish", "didParseResponse",
            ])
    }

    @Test func `events of a cancel between two hops`() async throws {
        let mute = MuteRedirector()
        let request = session(.redirect(to: "/next")).request(address).redirect(using: mute)
            .response { ended.record($0.error) }
        try await mute.asked.values(1)
        #expect(
            try await end(request) == [
                "didCancel", "didCancelTask", "didGatherMetrics", "didCompleteTask",
                "didFinish", "didParseResponse",
            ])
    }

    @Test func `events of a cancel during a retrier call`() async throws {
        let mute = Mute()
        let request = session(.status(500)).request(address, interceptor: mute).validate()
            .response { ended.record($0.error) }
        try await mute.asked.values(1)
        request.cancel()
        _ = try await ended.values(1)
        let events = try await recorder.requestEvents()
        #expect(
            events.suffix(4) == ["didCompleteTask", "didCancel", "didFinish", "didParseResponse"])
    }

    @Test func `events of a cancel during the delay of a retry`() async throws {
        let delayed = Recorder<Int>()
        let retrier = Retrier { request, _, _, done in
            done(.retryWithDelay(3600))
            delayed.record(request.retryCount)
        }
        let request = session(.status(500)).request(address, interceptor: retrier).validate()
            .response { ended.record($0.error) }
        #expect(try await delayed.values(1) == [0])
        #expect(try await end(request) == ["didCancel", "didFinish", "didParseResponse"])
    }

    @Test func `events of a cancel during a retrier call for a serialization failure`() async throws
    {
        let mute = Mute()
        let request = session(.text("not JSON")).request(address, interceptor: mute)
            .responseDecodable(of: Int.self) { ended.record($0.error) }
        try await mute.asked.values(1)
        #expect(try await end(request) == ["didCancel"])
    }

    @Test func `a cancel after the end has no events`() async throws {
        let request = session(.text("x")).request(address)
        _ = await request.serializingUnserialized().response
        let events = try await recorder.requestEvents()
        request.cancel()
        #expect(recorder.ofRequests.values == events)
        #expect(request.isFinished)
    }

    @Test func `many concurrent cancels report at most one cancel and one end for each request`()
        async throws
    {
        let session = session(.text("x"))
        let count = 200
        for index in 0..<count {
            let request = session.request(address).response { ended.record($0.error) }
            Task.detached { request.cancel() }
            if index.isMultiple(of: 2) { request.cancel() }
        }
        try await ended.values(count)
        let events = try await recorder.requestEvents(until: count)
        #expect(events.count { $0 == "didFinish" } == count)
        #expect(events.count { $0 == "didParseResponse" } == count)
        #expect(events.count { $0 == "didCancel" } <= count)
        #expect(
            events.count { $0 == "didCreateTask" } == events.count { $0 == "didCompleteTask" })
    }
}

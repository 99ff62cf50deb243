import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

private struct Unmakable: URLRequestConvertible {
    func asURLRequest() throws -> HTTPRequest { throw Refused() }
}

/// Finishes each task before `start(_:handler:)` returns it.
private final class InstantTransport: Transport {
    private final class Instant: TransferTask {
        let identifier: UInt64 = 1
        func cancel() {}
        func suspend() {}
        func resume() {}
        func reportProgress() {}
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let task = Instant()
        let turn = TransportTurn()
        let head = HTTPResponse(url: job.request.url, statusCode: 200)
        _ = handler.transfer(task, didReceive: head, turn: turn)
        handler.transferDidFinish(task, result: TransferResult(response: head), turn: turn)
        turn.end()
        return task
    }

    func shutDown() {}
}

@Suite(.timeLimit(.minutes(patience))) struct EventOrderTests {
    let address = "http://example.test/get"
    let recorder = EventRecorder()
    /// Retains the sessions: a session that is released ends its requests.
    let kept = Recorder<Session>()

    private func session(
        _ answers: StubAnswer..., interceptor: (any RequestInterceptor)? = nil
    ) -> Session {
        let session = Session(
            transport: StubTransport(answers: answers), interceptor: interceptor,
            eventMonitors: [recorder])
        kept.record(session)
        return session
    }

    @Test func `a request reports its events in order`() async throws {
        let request = session(.text("x")).request(address).validate()
        _ = await request.serializingString().response
        #expect(
            try await recorder.requestEvents() == [
                "didResume", "didCreateInitialURLRequest", "didCreateURLRequest",
                "didCreateTask", "didResumeTask", "didGatherMetrics", "didValidate", "didValidate",
                "didCompleteTask", "didFinish", "didParseResponse",
            ])
    }

    @Test func `didAdaptInitialRequest is reported between the two requests`() async throws {
        let session = session(
            .text("x"), interceptor: Adapter { request, _, done in done(.success(request)) })
        _ = await session.request(address).serializingUnserialized().response
        #expect(
            try await recorder.requestEvents() == [
                "didResume", "didCreateInitialURLRequest", "didAdaptInitialRequest",
                "didCreateURLRequest", "didCreateTask", "didResumeTask", "didGatherMetrics",
                "didCompleteTask", "didFinish", "didParseResponse",
            ])
    }

    @Test func `a handler added after the end reports didParseResponse without a second didFinish`()
        async throws
    {
        let request = session(.text("x")).request(address)
        _ = await request.serializingString().response
        let events = try await recorder.requestEvents()
        #expect(events.suffix(2) == ["didFinish", "didParseResponse"])
        _ = await request.serializingString().response
        #expect(try await recorder.requestEvents() == events + ["didParseResponse"])
    }

    @Test func `a retry after a serialization failure reports a second didFinish`() async throws {
        let session = session(
            .text("not JSON"), .text("1"),
            interceptor: Retrier { _, _, _, done in done(.retry) })
        let response = await session.request(address).serializingDecodable(Int.self).response
        #expect(response.value == 1)
        let attempt = [
            "didCreateInitialURLRequest", "didAdaptInitialRequest", "didCreateURLRequest",
            "didCreateTask", "didResumeTask", "didGatherMetrics", "didCompleteTask", "didFinish",
            "didParseResponse",
        ]
        let events = try await recorder.requestEvents(until: 2)
        #expect(events == ["didResume"] + attempt + ["isRetrying"] + attempt)
    }

    @Test func `a failed creation or adaptation is reported without transfer events`() async throws
    {
        _ = await session().request("", requestModifier: { _ in throw Refused() })
            .serializingUnserialized().response
        #expect(
            try await recorder.requestEvents() == [
                "didResume", "didFailToCreateURLRequest", "didFinish", "didParseResponse",
            ])
        let refusing = session(interceptor: Adapter { _, _, done in done(.failure(Refused())) })
        _ = await refusing.request(address).serializingUnserialized().response
        #expect(
            try await recorder.requestEvents(until: 2).dropFirst(4) == [
                "didResume", "didCreateInitialURLRequest", "didFailToAdaptURLRequest",
                "didFinish", "didParseResponse",
            ])
    }

    @Test func `a retry reports all events of the attempt again`() async throws {
        let session = session(
            .status(503), .text("x"), interceptor: RetryPolicy(exponentialBackoffScale: 0))
        _ = await session.request(address).validate(statusCode: [200])
            .serializingUnserialized().response
        let attempt = [
            "didCreateInitialURLRequest", "didAdaptInitialRequest", "didCreateURLRequest",
            "didCreateTask", "didResumeTask", "didGatherMetrics", "didValidate", "didCompleteTask",
        ]
        #expect(
            try await recorder.requestEvents()
                == ["didResume"] + attempt + ["isRetrying"] + attempt
                + ["didFinish", "didParseResponse"])
    }

    @Test func `a redirect is reported within the same task`() async throws {
        _ = await session(.redirect(to: "/next"), .text("x")).request(address)
            .serializingUnserialized().response
        #expect(
            try await recorder.requestEvents() == [
                "didResume", "didCreateInitialURLRequest", "didCreateURLRequest",
                "didCreateTask", "didResumeTask", "willRedirect", "didGatherMetrics",
                "didCompleteTask", "didFinish", "didParseResponse",
            ])
    }

    @Test func `a redirect that cannot be followed completes the task`() async throws {
        let response = await session(.redirect(to: "ftp://elsewhere/")).request(address)
            .serializingUnserialized().response
        #expect(response.error?.transferError?.code == .redirectToNonExistentLocation)
        #expect(
            try await recorder.requestEvents().suffix(4) == [
                "didGatherMetrics", "didCompleteTask", "didFinish", "didParseResponse",
            ])
    }

    @Test func `a transport that completes inside start does not change the order of events`()
        async throws
    {
        let session = Session(transport: InstantTransport(), eventMonitors: [recorder])
        for _ in 0..<50 {
            _ = await session.request(address).serializingUnserialized().response
        }
        let events = try await recorder.requestEvents(until: 50)
        let one = [
            "didResume", "didCreateInitialURLRequest", "didCreateURLRequest", "didCreateTask",
            "didResumeTask", "didGatherMetrics", "didCompleteTask", "didFinish",
            "didParseResponse",
        ]
        #expect(events == Array(repeating: one, count: 50).flatMap { $0 })
    }

    @Test func `suspending and resuming are reported once for each change`() async throws {
        let transport = StubTransport { _ in .silence }
        let session = Session(transport: transport, eventMonitors: [recorder])
        let ended = Recorder<Int>()
        let request = session.request(address).response { _ in ended.record(1) }
        while request.task == nil, !Task.isCancelled { await Task.yield() }
        try await concurrently(100) { _ in request.suspend() }
        try await concurrently(100) { _ in request.resume() }
        try await concurrently(100) { _ in request.cancel() }
        try await ended.values(1)
        #expect(
            try await recorder.requestEvents() == [
                "didResume", "didCreateInitialURLRequest", "didCreateURLRequest",
                "didCreateTask", "didResumeTask", "didSuspend", "didSuspendTask", "didResume",
                "didResumeTask", "didCancel", "didCancelTask", "didGatherMetrics",
                "didCompleteTask", "didFinish", "didParseResponse",
            ])
    }

    @Test func `transfer events are reported in the order of the transport`() async throws {
        let challenge: HTTPHeaders = [
            "WWW-Authenticate": #"Basic realm="a, b", Digest realm="c", nonce="n", Negotiate"#
        ]
        let session = session(.redirect(to: "/next"), .status(401, headers: challenge))
        let post = HTTPRequest(
            url: URL(string: address), method: .post, body: .data(Data("abc".utf8)))
        _ = await session.request(post).serializingUnserialized().response
        _ = try await recorder.requestEvents()
        session.invalidate()
        session.invalidate()
        #expect(
            try await recorder.ofTransfers.values(9) == [
                "taskDidSendBodyData", "taskWillRedirect", "taskDidReceiveChallenge",
                "taskDidReceiveChallenge", "taskDidReceiveChallenge", "taskDidReceiveResponse",
                "taskDidGatherMetrics", "taskDidComplete",
                "sessionDidBecomeInvalid",
            ])
    }

    @Test(arguments: [true, false])
    func `the head of a redirect that is not followed is reported once`(isAsked: Bool) async throws
    {
        let session = session(.redirect(to: "/next"), .text("x"))
        let handler: Redirector = isAsked ? .modify { _, _, _ in nil } : .doNotFollow
        _ = await session.request(address).redirect(using: handler)
            .serializingUnserialized().response
        _ = try await recorder.requestEvents()
        #expect(
            recorder.ofTransfers.values.count(where: { $0 == "taskDidReceiveResponse" }) == 1)
    }

    @Test func `the end of a download is reported after its file was moved`() async throws {
        let order = Recorder<String>()
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "order"))
        monitor.downloadTaskDidFinishDownloadingToURL = { _, _, _ in order.record("finished to") }
        monitor.requestDidCreateDestinationURL = { _, _ in order.record("destination") }
        monitor.requestDidFinishDownloadingUsingTaskWithResult = { _, _, _ in
            order.record("in place")
        }
        monitor.taskDidFinishCollectingMetrics = { _, _, _ in order.record("collected") }
        monitor.requestDidGatherMetrics = { _, _ in order.record("metrics") }
        monitor.taskDidComplete = { _, _, _ in order.record("complete") }
        monitor.requestDidValidateRequestResponseFileURLWithResult = { _, _, _, _, _ in
            order.record("validated")
        }
        monitor.requestDidCompleteTaskWithError = { _, _, _ in order.record("completed") }
        let session = Session(
            transport: StubTransport(answers: [.text("x"), .failure(TransferError(.timedOut))]),
            eventMonitors: [monitor])
        await session.download(address).validate(statusCode: [200]).serializingData().response
            .removeFiles()
        #expect(
            try await order.values(8) == [
                "finished to", "destination", "in place", "collected", "metrics", "complete",
                "validated", "completed",
            ])
        // Without a file, there are no file events to wait for.
        _ = await session.download(address).serializingData().response
        #expect(
            try await order.values(12).suffix(4) == [
                "collected", "metrics", "complete", "completed",
            ])
    }

    @Test func `a request cancelled before its creation is not created`() async throws {
        let root = DispatchQueue(label: "root")
        let session = Session(
            transport: StubTransport { _ in .text("x") }, rootQueue: root,
            interceptor: Adapter { request, _, done in done(.success(request)) },
            eventMonitors: [recorder])
        root.suspend()
        let request = session.request(address).resume().cancel()
        root.resume()
        await session.requestQueue.drained()
        #expect(try await recorder.requestEvents() == ["didResume", "didCancel", "didFinish"])
        #expect(request.requests.isEmpty && request.error?.isExplicitlyCancelledError == true)
    }

    @Test func `a request's own monitor gets only the events of this request`()
        async throws
    {
        let own = EventRecorder()
        let session = session(.text("x"))
        _ = await session.request(address).serializingUnserialized().response
        let request = session.request(address).eventMonitor(own)
        _ = await request.serializingUnserialized().response
        let all = try await recorder.requestEvents(until: 2)
        let events = try await own.requestEvents()
        #expect(events == Array(all.suffix(events.count)))
        #expect(events.first == "didResume")
        #expect(own.ofTransfers.values.isEmpty)
        #expect(request.eventMonitor != nil)
    }

    @Test func `a request's monitor works without a session monitor`() async throws {
        let own = EventRecorder()
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = session.request(address).eventMonitor(own)
        _ = await request.serializingUnserialized().response
        #expect(try await own.requestEvents().count == 9)
        #expect(session.request(address).eventMonitor == nil)
    }

    /// The stage before the transfer that fails.
    enum EarlyFailure: CaseIterable { case making, adapting, uploading }

    @Test(arguments: EarlyFailure.allCases)
    func `an early failure is set as the request's error before it is reported`(
        failure: EarlyFailure
    ) async throws {
        let untold = Recorder<Bool>()
        let queue = DispatchQueue(label: "hears")
        let monitor = ClosureEventMonitor(queue: queue)
        // The sleeps keep the queue's thread running, so that it handles the failure immediately.
        monitor.requestDidResume = { _ in usleep(200) }
        monitor.requestDidCreateInitialURLRequest = { _, _ in usleep(200) }
        monitor.requestDidFailToCreateURLRequestWithError = { request, _ in
            untold.record(request.error == nil)
        }
        monitor.requestDidFailToAdaptURLRequestWithError = { request, _, _ in
            untold.record(request.error == nil)
        }
        monitor.requestDidFailToCreateUploadableWithError = { request, _ in
            untold.record(request.error == nil)
        }
        let session = Session(
            transport: StubTransport { _ in .text("x") },
            interceptor: Adapter { request, _, done in
                done(failure == .adapting ? .failure(Refused()) : .success(request))
            }, eventMonitors: [monitor])
        for _ in 0..<300 {
            switch failure {
            case .making:
                _ = await session.request(Unmakable()).serializingData().response
            case .adapting: _ = await session.request(address).serializingData().response
            case .uploading:
                let form = MultipartFormData(boundary: "not allowed: \n")
                _ = await session.upload(multipartFormData: form, to: address)
                    .serializingData().response
            }
        }
        let values = try await untold.values(300)
        #expect(values.count(where: { $0 }) == 0)
    }
}

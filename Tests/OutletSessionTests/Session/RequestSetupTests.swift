import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests lazy and eager setup of requests: at the first `resume()`, or at creation.
@Suite(.timeLimit(.minutes(patience))) struct RequestSetupTests {
    let address = "http://example.test/get"
    let recorder = EventRecorder()
    let transport = StubTransport { _ in .text("x") }

    private func session(
        _ setup: Session.RequestSetup, starts: Bool = false,
        interceptor: (any RequestInterceptor)? = nil
    ) -> Session {
        Session(
            transport: transport, startRequestsImmediately: starts, requestSetup: setup,
            interceptor: interceptor, eventMonitors: [recorder])
    }

    @Test func `a lazy request is not created before it is resumed`() async throws {
        let session = session(.lazy)
        #expect(session.requestSetup == .lazy)
        let seen = Recorder<Int>()
        let request = session.request(address).response { _ in seen.record(1) }
        await session.rootQueue.drained()
        await session.requestQueue.drained()
        #expect(request.request == nil && request.task == nil && request.isInitialized)
        request.resume()
        try await seen.values(1)
        #expect(request.request != nil && transport.requests.count == 1)
    }

    @Test func `an eager request is prepared before resume, and nothing is sent`()
        async throws
    {
        let interceptor = Counting()
        let session = session(.eager, interceptor: interceptor)
        let request = session.request(address)
        try await recorder.ofRequests.values(4)
        #expect(
            recorder.ofRequests.values == [
                "didCreateInitialURLRequest", "didAdaptInitialRequest", "didCreateURLRequest",
                "didCreateTask",
            ])
        #expect(request.task?.state == .suspended && request.isInitialized)
        #expect(request.task?.currentRequest?.url?.absoluteString == address)
        #expect(interceptor.calls == [1, 0] && transport.requests.isEmpty)
        let text = request.serializingString()
        request.resume()
        #expect(await text.response.value == "x")
        #expect(interceptor.calls == [1, 0] && request.tasks.count == 1)
        #expect(
            try await recorder.requestEvents().dropFirst(4) == [
                "didResume", "didResumeTask", "didGatherMetrics", "didCompleteTask",
                "didFinish", "didParseResponse",
            ])
    }

    @Test func `the pipeline runs once with many resume and suspend calls`()
        async throws
    {
        // Both sessions share a transport, which a released session would shut down.
        let sessions = [session(.lazy), session(.eager)]
        for session in sessions {
            let interceptor = Counting()
            let request = session.request(address, interceptor: interceptor)
            try await concurrently(100) { index in
                if index % 2 == 0 { request.resume() } else { request.suspend() }
            }
            request.resume()
            let response = await request.serializingString().response
            #expect(response.value == "x", "\(session.requestSetup): \(response)")
            #expect(interceptor.calls == [1, 0])
        }
        #expect(transport.requests.count == 2)
    }

    @Test func `a cancel of an eager request's task cancels the request`()
        async throws
    {
        let session = session(.eager)
        let request = session.request(address)
        try await recorder.ofRequests.values(3)
        for _ in 0..<100 { request.suspend() }
        #expect(
            try await recorder.ofRequests.values(5).suffix(2) == [
                "didSuspend", "didSuspendTask",
            ])
        let text = request.serializingString()
        request.task?.cancel()
        let response = await text.response
        #expect(response.error?.isExplicitlyCancelledError == true && response.metrics != nil)
        #expect(request.isCancelled)
        #expect(
            try await recorder.requestEvents().dropFirst(5) == [
                "didCancel", "didCancelTask", "didGatherMetrics",
                "didCompleteTask", "didFinish", "didParseResponse",
            ])
    }

    @Test func `an eager request that is suspended first is prepared and waits`()
        async throws
    {
        let root = DispatchQueue(label: "root")
        let session = Session(
            transport: transport, rootQueue: root, requestSetup: .eager, eventMonitors: [recorder])
        root.suspend()
        let request = session.request(address).suspend()
        root.resume()
        let events = try await recorder.ofRequests.values(5)
        #expect(
            events == [
                "didSuspend", "didCreateInitialURLRequest", "didCreateURLRequest", "didCreateTask",
                "didSuspendTask",
            ])
        #expect(request.isSuspended && request.task?.state == .suspended)
        #expect(transport.requests.isEmpty)
    }

    @Test func `an eager request that is cancelled first is not created`() async throws {
        let root = DispatchQueue(label: "root")
        let session = Session(
            transport: transport, rootQueue: root, requestSetup: .eager, eventMonitors: [recorder])
        root.suspend()
        let request = session.request(address).cancel()
        root.resume()
        #expect(try await recorder.requestEvents() == ["didCancel", "didFinish"])
        await session.rootQueue.drained()
        await session.requestQueue.drained()
        #expect(request.isCancelled && request.task == nil && request.request == nil)
    }

    @Test func `many eager requests can be suspended and cancelled, each with its metrics once`()
        async throws
    {
        let session = session(.eager)
        let requests = (0..<50).map { _ in session.request(address) }
        try await recorder.ofRequests.values(150)
        let suspended = Recorder<Int>()
        session.withAllRequests { all in
            for request in all { request.suspend() }
            suspended.record(all.count)
        }
        #expect(try await suspended.values(1) == [50])
        #expect(requests.allSatisfy { $0.isSuspended })
        let responses = Recorder<SessionError?>()
        for request in requests { request.response { responses.record($0.error) } }
        session.cancelAllRequests { responses.record(.explicitlyCancelled) }
        let errors = try await responses.values(51)
        #expect(errors.allSatisfy { $0?.isExplicitlyCancelledError == true })
        let events = try await recorder.requestEvents(until: 50)
        for name in ["didGatherMetrics", "didCancel", "didCancelTask", "didCompleteTask"] {
            #expect(events.count { $0 == name } == 50, "\(name)")
        }
    }

    @Test func `a released session ends requests that were never resumed`() async throws {
        var session: Session? = session(.eager)
        weak let dropped = session
        let request = try #require(session?.request(address))
        session = nil
        try await recorder.ofRequests.values(4)
        #expect(recorder.ofRequests.values.contains("didCreateTask"))
        while dropped != nil || !request.isFinished, !Task.isCancelled { await Task.yield() }
        #expect(request.error?.isSessionDeinitializedError == true)
        #expect(request.task?.state == .completed)
    }

    @Test func `a failed creation of an eager request is kept for later handlers`() async throws {
        let session = session(.eager)
        let request = session.request(
            address, requestModifier: { _ in throw Counting.Refusal(call: 1) })
        _ = try await recorder.requestEvents()
        // The event is reported before the request is finished.
        while !request.isFinished, !Task.isCancelled { await Task.yield() }
        #expect(transport.requests.isEmpty)
        let response = await request.serializingString().response
        #expect(response.error?.isCreateURLRequestError == true)
    }
}

import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct EarlyResponseTests {
    let address = "http://example.test/get"
    private let lost = StubAnswer.failure(
        TransferError(code: .networkConnectionLost, reason: "lost"))
    private let retrier = Retrier { _, _, _, completion in completion(.retry) }

    @Test func `the head is reported before the body`() async throws {
        let session = Session(transport: StubTransport(answers: [.text("body")]))
        let seen = Recorder<String>()
        let request = session.request(address)
            .onHTTPResponse { seen.record("head \($0.statusCode)") }
            .downloadProgress { _ in seen.record("body") }
        _ = await request.serializingData().response
        #expect(try await seen.values(2) == ["head 200", "body"])
    }

    @Test func `cancelling at the head cancels the request without reading the body`()
        async throws
    {
        let session = Session(transport: StubTransport(answers: [.text("body")]))
        let request = session.request(address)
            .onHTTPResponse { (_, completionHandler) in completionHandler(.cancel) }
        let response = await request.serializingData().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(response.data == nil)
        #expect(response.response?.statusCode == 200)
        #expect(request.isCancelled)
    }

    @Test func `the body waits for the first decision about the head, and a second is ignored`()
        async throws
    {
        let session = Session(transport: StubTransport(answers: [.text("body")]))
        let asked = Recorder<@Sendable (Request.ResponseDisposition) -> Void>()
        let done = Recorder<String?>()
        let request = session.request(address)
            .onHTTPResponse { (_, completionHandler) in asked.record(completionHandler) }
            .responseString { done.record($0.value) }
        let answer = try await asked.values(1)[0]
        // Suspending and resuming does not end the wait.
        request.suspend()
        request.resume()
        #expect(done.values.isEmpty)
        answer(.allow)
        answer(.cancel)
        #expect(try await done.values(1) == ["body"])
    }

    @Test func `a decision about the head does not resume a suspended request`() async throws {
        let session = Session(transport: StubTransport(answers: [.text("body")]))
        let asked = Recorder<@Sendable (Request.ResponseDisposition) -> Void>()
        let done = Recorder<String?>()
        let request = session.request(address)
            .onHTTPResponse { (_, completionHandler) in asked.record(completionHandler) }
            .responseString { done.record($0.value) }
        let answer = try await asked.values(1)[0]
        request.suspend()
        answer(.allow)
        #expect(done.values.isEmpty)
        request.resume()
        #expect(try await done.values(1) == ["body"])
    }

    @Test func `a request can be cancelled while the decision about the head is pending`()
        async throws
    {
        let session = Session(transport: StubTransport(answers: [.text("body")]))
        let asked = Recorder<Int>()
        let request = session.request(address).onHTTPResponse { (_, _) in asked.record(1) }
        async let response = request.serializingData().response
        try await asked.values(1)
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
    }

    @Test func `only the last hop's head is reported`() async throws {
        let session = Session(
            transport: StubTransport(answers: [.redirect(to: "/to"), .text("x")]))
        let seen = Recorder<Int>()
        let request = session.request(address).onHTTPResponse { seen.record($0.statusCode) }
        _ = await request.serializingData().response
        try await seen.values(1)
        #expect(seen.values == [200])
    }

    @Test func `a redirect that is not followed is reported as the response`() async throws {
        let transport = StubTransport(answers: [.redirect(to: "/to")])
        let session = Session(transport: transport)
        for handler in [Redirector.doNotFollow, .modify { _, _, _ in nil }] {
            let seen = Recorder<Int>()
            let request = session.request(address).redirect(using: handler)
                .onHTTPResponse { seen.record($0.statusCode) }
            _ = await request.serializingUnserialized().response
            #expect(try await seen.values(1) == [302])
        }
    }

    @Test func `a cancel ends the wait for a decision about a redirect that is not followed`()
        async throws
    {
        let session = Session(transport: StubTransport { _ in .redirect(to: "/to") })
        let asked = Recorder<@Sendable (Request.ResponseDisposition) -> Void>()
        let ends = Recorder<SessionError?>()
        let request = session.request(address).redirect(using: .modify { _, _, _ in nil })
            .onHTTPResponse { (_, completionHandler) in asked.record(completionHandler) }
            .response { ends.record($0.error) }
        let answer = try await asked.values(1)[0]
        request.cancel()
        #expect(try await ends.values(1)[0]?.isExplicitlyCancelledError == true)
        answer(.allow)
        let stream = session.streamRequest(address).redirect(using: .modify { _, _, _ in nil })
            .onHTTPResponse { (_, completionHandler) in asked.record(completionHandler) }
            .responseStream { if let end = $0.completion { ends.record(end.error) } }
        try await asked.values(2)
        stream.cancel()
        #expect(try await ends.values(2)[1]?.isExplicitlyCancelledError == true)
    }

    @Test func `the head of every attempt is reported`() async throws {
        var broken = StubAnswer.text("body")
        broken.error = TransferError(code: .networkConnectionLost, reason: "lost")
        let session = Session(
            transport: StubTransport(answers: [broken, .text("x", statusCode: 201)]),
            interceptor: retrier)
        let seen = Recorder<Int>()
        let request = session.request(address).onHTTPResponse { seen.record($0.statusCode) }
        _ = await request.serializingData().response
        #expect(try await seen.values(2) == [200, 201])
    }

    @Test func `a session with inline delivery calls onHTTPResponse at once`() async {
        let session = Session(
            transport: StubTransport(answers: [.text("body")]), delivery: .inline)
        let request = session.request(address)
            .onHTTPResponse { (_, completionHandler) in completionHandler(.allow) }
        #expect(await request.serializingString().response.value == "body")
    }

    @Test func `requests and tasks are reported at every attempt`()
        async throws
    {
        let session = Session(
            transport: StubTransport(answers: [lost, .text("x")]), interceptor: retrier)
        let requests = Recorder<HTTPRequest>()
        let tasks = Recorder<UInt64>()
        let request = session.request(address)
            .onURLRequestCreation { requests.record($0) }
            .onURLSessionTaskCreation { tasks.record($0.identifier) }
        _ = await request.serializingData().response
        #expect(try await requests.values(2).map(\.url?.absoluteString) == [address, address])
        #expect(try await tasks.values(2) == request.tasks.map(\.identifier))
    }

    @Test func `a handler added after the end gets the existing request and task`() async throws {
        let session = Session(transport: StubTransport(answers: [.text("x")]))
        let request = session.request(address)
        _ = await request.serializingData().response
        let seen = Recorder<String>()
        request.onURLRequestCreation { _ in seen.record("request") }
            .onURLSessionTaskCreation { _ in seen.record("task") }
        #expect(try await seen.values(2) == ["request", "task"])
    }

    /// A transport whose tasks suspend their request in `resume()`, as another thread could.
    private final class SuspendingTransport: Transport {
        final class SuspendingTask: TransferTask {
            let identifier = TransferIdentifier.next()
            let calls = Recorder<String>()
            let request = Lock<Request?>(nil)
            /// Released at the end, because it refers to the task.
            private let handler: Lock<(any TransferHandler)?>

            init(_ handler: any TransferHandler) { self.handler = Lock(handler) }

            func suspend() { calls.record("suspend") }

            func resume() {
                request.withLock { $0.take() }?.suspend()
                calls.record("resume")
            }

            func cancel() {
                let turn = TransportTurn()
                handler.withLock { $0.take() }?.transferDidFinish(
                    self, result: TransferResult(error: .cancelled), turn: turn)
                turn.end()
            }
        }

        let tasks = Recorder<SuspendingTask>()

        func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
            let task = SuspendingTask(handler)
            tasks.record(task)
            let turn = TransportTurn()
            let head = HTTPResponse(url: job.request.url, statusCode: 200)
            _ = handler.transfer(task, didReceive: head, turn: turn)
            turn.end()
            return task
        }

        func shutDown() {}
    }

    @Test func `a suspend during the resume after a decision suspends the transfer`() async throws {
        let transport = SuspendingTransport()
        let session = Session(transport: transport)
        let asked = Recorder<@Sendable (Request.ResponseDisposition) -> Void>()
        let done = Recorder<SessionError?>()
        let request = session.request(address)
            .onHTTPResponse { (_, completionHandler) in asked.record(completionHandler) }
            .response { done.record($0.error) }
        let answer = try await asked.values(1)[0]
        let task = try await transport.tasks.values(1)[0]
        defer { transport.tasks.removeAll() }
        task.request.withLock { $0 = request }
        answer(.allow)
        #expect(try await task.calls.values(3) == ["suspend", "resume", "suspend"])
        request.cancel()
        #expect(try await done.values(1)[0]?.isExplicitlyCancelledError == true)
        withExtendedLifetime(session) {}
    }

    @Test func `a resume before the decision about the head does not resume the transfer`()
        async throws
    {
        let transport = SuspendingTransport()
        let session = Session(transport: transport)
        let asked = Recorder<@Sendable (Request.ResponseDisposition) -> Void>()
        let done = Recorder<SessionError?>()
        let request = session.request(address)
            .onHTTPResponse { (_, completionHandler) in asked.record(completionHandler) }
            .response { done.record($0.error) }
        let answer = try await asked.values(1)[0]
        let task = try await transport.tasks.values(1)[0]
        defer { transport.tasks.removeAll() }
        request.suspend()
        request.resume()
        #expect(task.calls.values == ["suspend"])
        answer(.allow)
        #expect(try await task.calls.values(2) == ["suspend", "resume"])
        request.cancel()
        #expect(try await done.values(1)[0]?.isExplicitlyCancelledError == true)
        withExtendedLifetime(session) {}
    }
}

import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests every way to await a request, cancelled through the awaiting task or the request.
@Suite(.timeLimit(.minutes(patience))) struct AsyncCancellationTests {
    /// What is cancelled.
    enum Side: CaseIterable { case task, request }

    /// A request, and a closure that awaits its end.
    struct Case: Sendable {
        let request: Request
        let wait: @Sendable () async -> SessionError?
    }

    private let url = "http://example.test/slow"
    private let sessions = KeptSessions()

    /// Responds with a head and four bytes, or opens a WebSocket, and then stays silent.
    private var session: Session {
        sessions.make(
            StubTransport { job in
                if job.request.url?.path == "/chat" {
                    return .webSocket([.send(.string("1")), .echo])
                }
                var answer = StubAnswer.text("12345678")
                answer.chunkSize = 4
                return answer.stalling(atByte: 4)
            })
    }

    private func data<Value: Sendable>(
        _ make: (DataRequest) -> DataTask<Value>
    ) -> Case {
        let request = session.request(url)
        let task = make(request)
        return Case(request: request) { await task.response.error }
    }

    private func download<Value: Sendable>(
        _ make: (DownloadRequest) -> DownloadTask<Value>
    ) -> Case {
        let request = session.download(url)
        let task = make(request)
        return Case(request: request) { await task.response.error }
    }

    private func stream<Success, Failure>(
        _ make:
            @escaping @Sendable (DataStreamTask) -> StreamOf<
                DataStreamRequest.Stream<Success, Failure>
            >
    ) -> Case {
        let request = session.streamRequest(url)
        return Case(request: request) {
            var error: SessionError?
            for await stream in make(request.streamTask()) { error = stream.completion?.error }
            return error
        }
    }

    private func socket<Element>(
        _ make: @escaping @Sendable (WebSocketTask) -> StreamOf<Element>
    ) -> Case {
        let request = session.webSocketRequest(to: "ws://example.test/chat")
        return Case(request: request) {
            for await _ in make(request.webSocketTask()) {}
            return request.error
        }
    }

    private var cases: [Case] {
        [
            data { $0.serializingData() }, data { $0.serializingString() },
            data { $0.serializingDecodable(Int.self) },
            data { $0.serializingResponse(using: .data) },
            data { $0.serializingResponse(using: JSONResponseSerializer()) },
            data { $0.serializingUnserialized() },
            data { $0.onHTTPResponse { _ in await Task.yield() }.serializingData() },
            download { $0.serializingData() }, download { $0.serializingString() },
            download { $0.serializingDecodable(Int.self) },
            download { $0.serializingDownloadedFileURL() },
            download { $0.serializingDownload(using: .url) },
            stream { $0.streamingData() }, stream { $0.streamingStrings() },
            stream { $0.streamingDecodables(Int.self) },
            stream { $0.streamingResponses(serializedUsing: .passthrough) },
            socket { $0.streamingMessageEvents() }, socket { $0.streamingMessages() },
            socket { $0.streamingDecodable(Int.self) },
            socket { $0.streamingDecodableEvents(Int.self) },
        ]
    }

    @Test(arguments: Side.allCases)
    func `cancelling the task or the request ends every await`(side: Side) async {
        for one in cases {
            let task = Task { await one.wait() }
            while one.request.task == nil, !Task.isCancelled { await Task.yield() }
            switch side {
            case .task: task.cancel()
            case .request: one.request.cancel()
            }
            let error = await task.value
            #expect(one.request.isCancelled)
            #expect(one.request.error?.isExplicitlyCancelledError == true)
            // A loop that ends because its task is cancelled does not receive the completion.
            if let error { #expect(error.isExplicitlyCancelledError) }
            if side == .request { #expect(error != nil) }
        }
    }

    @Test func `a task that is cancelled before it awaits cancels the request`() async {
        for one in cases {
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return await one.wait()
            }
            task.cancel()
            _ = await task.value
            #expect(one.request.isCancelled)
            #expect(one.request.error?.isExplicitlyCancelledError == true)
        }
    }

    @Test func `without automaticallyCancelling a cancelled task does not cancel the request`()
        async
    {
        let gate = StubGate()
        let session = sessions.make(
            StubTransport { job in
                if job.request.url?.path == "/chat" { return .webSocket([.echo]) }
                return .text("1").waiting(atByte: 0, for: gate)
            })
        let data = session.request(url)
        let value = data.serializingString(automaticallyCancelling: false)
        let download = session.download(url)
        let file = download.serializingString(automaticallyCancelling: false)
        let stream = session.streamRequest(url)
        let pieces = stream.streamTask().streamingStrings(automaticallyCancelling: false)
        let socket = session.webSocketRequest(to: "ws://example.test/chat")
        let messages = socket.webSocketTask().streamingMessages(automaticallyCancelling: false)
        let tasks = [
            Task { _ = await value.result }, Task { _ = await file.result },
            Task { for await _ in pieces {} }, Task { for await _ in messages {} },
        ]
        for task in tasks { task.cancel() }
        gate.open()
        for task in tasks { await task.value }
        #expect(await value.response.value == "1")
        let whole = await file.response
        whole.removeFiles()
        #expect(whole.value == "1")
        #expect(data.error == nil && download.error == nil)
        #expect(!stream.isCancelled && !socket.isCancelled)
        socket.cancel()
    }

    @Test func `loops over a request's events end with it and do not cancel it`() async {
        let session = session
        for side in Side.allCases {
            let request = session.request(url)
            let loops: [@Sendable () async -> Void] = [
                { for await _ in request.uploadProgress() {} },
                { for await _ in request.downloadProgress() {} },
                { for await _ in request.urlRequests() {} },
                { for await _ in request.urlSessionTasks() {} },
                { for await _ in request.cURLDescriptions() {} },
                { for await _ in request.httpResponses() {} },
            ]
            let tasks = loops.map { loop in Task { await loop() } }
            let response = request.serializingData()
            while request.task == nil, !Task.isCancelled { await Task.yield() }
            switch side {
            case .task:
                for task in tasks { task.cancel() }
                for task in tasks { await task.value }
                #expect(!request.isCancelled)
                request.cancel()
            case .request:
                request.cancel()
                for task in tasks { await task.value }
            }
            #expect(await response.response.error?.isExplicitlyCancelledError == true)
        }
    }

    @Test func `a cancel during an async onHTTPResponse closure ends the request once`()
        async throws
    {
        let judging = Recorder<CheckedContinuation<Void, Never>>()
        let request = session.request(url).onHTTPResponse { _ in
            await withCheckedContinuation { judging.record($0) }
            return .allow
        }
        async let response = request.serializingData().response
        let held = try await judging.values(1)[0]
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        held.resume()
        #expect(judging.values.count == 1)
    }

    @Test func `a cancel fails a message that waits for the connection`() async {
        let socket = sessions.make(StubTransport { _ in .silence })
            .webSocketRequest(to: "ws://example.test/chat")
        let task = socket.webSocketTask()
        async let ended: Void = { for await _ in task.streamingMessages() {} }()
        let sending = Task { try await task.send(.string("x")) }
        while socket.task == nil, !Task.isCancelled { await Task.yield() }
        task.cancel()
        let result = await sending.result
        #expect(throws: SessionError.self) { try result.get() }
        await ended
    }

    @Test func `a cancelled task stops waiting for its message, and the socket goes on`() async {
        let socket = sessions.make(StubTransport { _ in .silence })
            .webSocketRequest(to: "ws://example.test/chat")
        let task = socket.webSocketTask()
        let sending = Task { try await task.send(.string("x")) }
        while socket.task == nil, !Task.isCancelled { await Task.yield() }
        sending.cancel()
        let result = await sending.result
        #expect(throws: SessionError.explicitlyCancelled) { try result.get() }
        #expect(!socket.isCancelled && !socket.isFinished)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await task.send(.string("y"))
        }
        await #expect(throws: SessionError.explicitlyCancelled) { try await late.value }
        task.cancel()
        for await _ in task.streamingMessages() {}
    }
}

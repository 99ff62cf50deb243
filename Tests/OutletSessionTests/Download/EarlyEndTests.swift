import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Downloads that end before a request is sent, although a part of the content is there.
@Suite(.timeLimit(.minutes(patience))) struct `Downloads that end before their transfer` {
    private let address = "http://example.test/file"
    private let text = "0123456789abcdefghij"
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var place: DownloadRequest.Destination {
        { [url = directory.url] _, _ in (url.appending(path: "a"), .removePreviousFile) }
    }

    /// Returns the resume data of a download that has received 8 bytes.
    private func interrupted() async throws -> Data {
        let session = Session(transport: Content(text, breaks: [8]).transport)
        let response = await session.download(address).serializingDownloadedFileURL().response
        return try #require(response.resumeData)
    }

    private func file(_ data: Data) throws -> String {
        struct File: Decodable { let file: String }
        return try JSONDecoder().decode(File.self, from: data).file
    }

    private func hasPart(_ data: Data) throws -> Bool {
        try FileManager.default.fileExists(atPath: file(data))
    }

    /// Resumes a download to its end, from the 8 bytes that were received.
    private func resume(_ data: Data) async throws {
        let transport = Content(text).transport
        let session = Session(transport: transport)
        _ = try await session.download(resumingWith: data, to: place)
            .serializingDownloadedFileURL().value
        #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=8-"])
        #expect(directory.text("a") == text)
    }

    /// Waits until its task is cancelled, after it has called `next` as often as wanted.
    private struct Waiting: Middleware {
        let asked: Recorder<Int>
        var calls = 0

        func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
            for _ in 0..<calls { _ = try? await next(request) }
            asked.record(1)
            try await Task.sleep(for: .seconds(3600))
            throw CancellationError()
        }
    }

    /// Never answers.
    private func silent(_ asked: Recorder<Int>) -> Adapter {
        Adapter { _, _, _ in asked.record(1) }
    }

    // MARK: Failures

    @Test func `a retry whose adapter fails keeps the received part`() async throws {
        let transport = Content(text, breaks: [8]).transport
        let session = Session(transport: transport, interceptor: Counting(refusing: [2]))
        let request = session.download(address)
        let response = await request.serializingDownloadedFileURL().response
        #expect(response.error?.underlyingError as? Counting.Refusal == Counting.Refusal(call: 2))
        #expect(request.retryCount == 1 && transport.requests.count == 1)
        try await resume(try #require(response.resumeData))
    }

    @Test func `a second attempt of the middleware whose adapter fails keeps the received part`()
        async throws
    {
        struct Twice: Middleware {
            func intercept(_ request: HTTPRequest, next: @escaping Next) async throws
                -> CallResponse
            {
                _ = try? await next(request)
                return try await next(request)
            }
        }
        let session = Session(
            transport: Content(text, breaks: [8]).transport,
            interceptor: Counting(until: 0, refusing: [2]), middleware: [Twice()])
        let response = await session.download(address).serializingDownloadedFileURL().response
        #expect(response.error?.underlyingError as? Counting.Refusal == Counting.Refusal(call: 2))
        try await resume(try #require(response.resumeData))
    }

    /// Why a resumed download is not sent.
    enum Obstacle: CaseIterable, Middleware {
        case adapter, middleware, cancellingMiddleware, answeringMiddleware, endedSession

        func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
            switch self {
            case .middleware: throw Counting.Refusal(call: 0)
            case .cancellingMiddleware: throw SessionError.explicitlyCancelled
            case .answeringMiddleware:
                return CallResponse(head: HTTPResponse(url: nil, statusCode: 503))
            case .adapter, .endedSession: return try await next(request)
            }
        }
    }

    @Test(arguments: Obstacle.allCases)
    func `a resumed download that cannot be sent keeps its resume data`(obstacle: Obstacle)
        async throws
    {
        let data = try await interrupted()
        let transport = Content(text).transport
        let session = Session(
            transport: transport,
            interceptor: Counting(until: 0, refusing: obstacle == .adapter ? [1] : []),
            middleware: [obstacle])
        if obstacle == .endedSession { session.invalidate() }
        let response = await session.download(resumingWith: data)
            .serializingDownloadedFileURL().response
        #expect(response.error != nil)
        #expect(transport.requests.isEmpty)
        #expect(response.resumeData == data)
        try await resume(data)
    }

    @Test func `a lost connection to another URL keeps the resume data`() async throws {
        let data = try await interrupted()
        let transport = StubTransport(answers: [.failure(TransferErrors.lost)])
        let session = Session(
            transport: transport,
            interceptor: Adapter { request, _, completion in
                var request = request
                request.url = URL(string: "http://other.test/file")
                completion(.success(request))
            })
        let response = await session.download(resumingWith: data)
            .serializingDownloadedFileURL().response
        #expect(transport.requests.map { $0.headers["Range"] } == [nil])
        #expect(response.resumeData == data)
        #expect(response.error?.downloadResumeData == data)
        try await resume(data)
    }

    // MARK: Cancels and the end of the session

    /// What a resumed download waits for.
    enum Stage: CaseIterable { case start, suspension, adapter, middleware }

    /// Returns a resumed download that has reached a stage.
    private func resumed(
        _ data: Data, until stage: Stage
    ) async throws -> (session: Session, request: DownloadRequest) {
        let asked = Recorder<Int>()
        let session = Session(
            transport: StubTransport(answers: []), startRequestsImmediately: false,
            interceptor: stage == .adapter ? silent(asked) : nil,
            middleware: stage == .middleware ? [Waiting(asked: asked)] : [])
        let request = session.download(resumingWith: data)
        switch stage {
        case .start: break
        case .suspension: request.suspend()
        case .adapter, .middleware:
            request.resume()
            try await asked.values(1)
        }
        return (session, request)
    }

    @Test(arguments: Stage.allCases)
    func `a cancel of a resumed download before its transfer produces its resume data`(
        stage: Stage
    ) async throws {
        let data = try await interrupted()
        let (session, request) = try await resumed(data, until: stage)
        let seen = Recorder<Data?>()
        request.cancel { seen.record($0) }
        #expect(try await seen.values(1) == [data])
        let response = await request.serializingDownloadedFileURL().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(response.resumeData == data)
        withExtendedLifetime(session) {}
        try await resume(data)
    }

    @Test(arguments: Stage.allCases)
    func `a resumed download whose session ends before its transfer keeps its resume data`(
        stage: Stage
    ) async throws {
        let data = try await interrupted()
        let ended = Recorder<DownloadResponse<URL?, SessionError>>()
        do {
            let (session, request) = try await resumed(data, until: stage)
            request.response { ended.record($0) }
            withExtendedLifetime(session) {}
        }
        let response = try await ended.values(1)[0]
        #expect(response.error?.isSessionDeinitializedError == true)
        #expect(response.resumeData == data)
        try await resume(data)
    }

    @Test(arguments: Stage.allCases)
    func `a cancel without resume data removes the part before the transfer, too`(
        stage: Stage
    ) async throws {
        let data = try await interrupted()
        let (session, request) = try await resumed(data, until: stage)
        request.cancel()
        let response = await request.serializingDownloadedFileURL().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(response.resumeData == nil)
        #expect(try !hasPart(data))
        withExtendedLifetime(session) {}
    }

    @Test func `a cancel before the transfer leaves a part that another download uses`()
        async throws
    {
        let data = try await interrupted()
        let (session, idle) = try await resumed(data, until: .adapter)
        let held = Session(transport: StubTransport(answers: [.silence]))
        let user = held.download(resumingWith: data)
        async let used = user.serializingDownloadedFileURL().response
        while user.performedRequests.isEmpty, !Task.isCancelled { await Task.yield() }
        idle.cancel()
        _ = await idle.serializingDownloadedFileURL().response
        #expect(try hasPart(data))
        user.cancel(producingResumeData: true)
        #expect(await used.resumeData == data)
        withExtendedLifetime((session, held)) {}
        try await resume(data)
    }

    @Test(arguments: [false, true])
    func `a cancel while a retry waits keeps the received part on request`(keeps: Bool)
        async throws
    {
        let delayed = Retrier { _, _, _, completion in completion(.retryWithDelay(3600)) }
        let session = Session(
            transport: Content(text, breaks: [8]).transport, interceptor: delayed)
        let request = session.download(address)
        let task = request.serializingDownloadedFileURL()
        while request.allMetrics.isEmpty, !Task.isCancelled { await Task.yield() }
        // The reset for the retry removes the error of the attempt.
        while request.error != nil, !Task.isCancelled { await Task.yield() }
        if keeps { request.cancel(producingResumeData: true) } else { request.cancel() }
        let response = await task.response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect((response.resumeData != nil) == keeps)
        if let data = response.resumeData { try await resume(data) }
        withExtendedLifetime(session) {}
    }

    @Test func `a cancel after a failed attempt of the middleware keeps the received part`()
        async throws
    {
        let asked = Recorder<Int>()
        let session = Session(
            transport: Content(text, breaks: [8]).transport,
            middleware: [Waiting(asked: asked, calls: 1)])
        let request = session.download(address)
        let task = request.serializingDownloadedFileURL()
        try await asked.values(1)
        request.cancel(producingResumeData: true)
        try await resume(try #require(await task.response.resumeData))
        withExtendedLifetime(session) {}
    }
}

import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

/// A kind of request, and its progress: upload or download.
enum ProgressKind: CaseIterable {
    case data, upload, download, stream

    /// Starts a request that records its progress and its completion.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - address: The URL.
    ///   - progress: The queue of the progress closure.
    ///   - completions: The queue of the completion; with `nil`, a data request is awaited by a
    ///     task, and the other kinds use their default queue.
    ///   - told: Records "progress" and "completion".
    /// - Returns: The request.
    func begin(
        _ session: Session, _ address: String, progress: DispatchQueue,
        completions: DispatchQueue?, _ told: Recorder<String>
    ) -> Request {
        let request: Request
        switch self {
        case .data: request = session.request(address)
        case .upload: request = session.upload(Data(count: 40_000), to: address)
        case .download: request = session.download(address)
        case .stream: request = session.streamRequest(address)
        }
        if self == .upload {
            request.uploadProgress(queue: progress) { _ in told.record("progress") }
        } else {
            request.downloadProgress(queue: progress) { _ in told.record("progress") }
        }
        switch request {
        case let request as DataRequest:
            if let completions {
                request.response(queue: completions) { _ in told.record("completion") }
            } else {
                Task {
                    _ = await request.serializingData().response
                    told.record("completion")
                }
            }
        case let request as DownloadRequest:
            request.responseData(queue: completions) { response in
                response.removeFiles()
                told.record("completion")
            }
        case let request as DataStreamRequest:
            request.responseStream(on: completions) { stream in
                if stream.completion != nil { told.record("completion") }
            }
        default: break
        }
        return request
    }
}

@Suite struct ProgressTests {
    let address = "http://example.test/bytes"

    private func answer(_ count: Int, headers: HTTPHeaders = HTTPHeaders()) -> StubAnswer {
        StubAnswer(headers: headers, body: Data(count: count), chunkSize: 10)
    }

    private func post(_ count: Int) -> HTTPRequest {
        HTTPRequest(
            url: URL(string: address), method: .post, body: .data(Data(count: count)))
    }

    @Test func `a download's progress is reported once per chunk and ends at the total`()
        async throws
    {
        let session = Session(transport: StubTransport(answers: [answer(35)]))
        let seen = Recorder<TransferProgress>()
        let request = session.request(address).downloadProgress { seen.record($0) }
        _ = await request.serializingData().response
        let values = try await seen.values(4)
        #expect(values.map(\.completedUnitCount) == [10, 20, 30, 35])
        #expect(values.map(\.totalUnitCount) == [35, 35, 35, 35])
        #expect(values.last?.fractionCompleted == 1)
        #expect(values.map(\.isFinished) == [false, false, false, true])
        #expect(request.downloadProgress.fractionCompleted == 1)
    }

    @Test func `an unknown total is -1 and the fraction is 0`() {
        let progress = TransferProgress(completedUnitCount: 5, totalUnitCount: -1)
        #expect(progress.fractionCompleted == 0)
        #expect(!progress.isFinished)
        #expect(progress.isIndeterminate)
    }

    @Test func `an upload's progress ends at the total`() async throws {
        let session = Session(transport: StubTransport(answers: [.status(204)]))
        let seen = Recorder<TransferProgress>()
        let request = session.request(post(40_000)).uploadProgress { seen.record($0) }
        _ = await request.serializingData().response
        let values = try await seen.values(3)
        #expect(values.map(\.completedUnitCount) == [16_384, 32_768, 40_000])
        #expect(values.last?.isFinished == true)
        #expect(request.uploadProgress == values.last)
    }

    @Test func `only the last progress closure is called, on its queue`() async throws {
        let session = Session(transport: StubTransport(answers: [answer(5)]))
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "progress")
        queue.setSpecific(key: key, value: true)
        let first = Recorder<Int>()
        let second = Recorder<Bool?>()
        let request = session.request(address)
            .downloadProgress { _ in first.record(1) }
            .downloadProgress(queue: queue) { _ in
                second.record(DispatchQueue.getSpecific(key: key))
            }
        _ = await request.serializingData().response
        #expect(try await second.values(1) == [true])
        #expect(first.values.isEmpty)
    }

    @Test func `a progress closure added during the transfer is called`()
        async throws
    {
        let session = Session(transport: StubTransport(answers: [answer(35)]))
        let seen = Recorder<TransferProgress>()
        let request = session.request(address)
        request.onHTTPResponse { [weak request] _ in
            request?.downloadProgress { seen.record($0) }
        }
        _ = await request.serializingData().response
        #expect(try await seen.values(4).last?.fractionCompleted == 1)
    }

    @Test func `a redirect's body is not part of the progress`() async throws {
        let session = Session(
            transport: StubTransport(answers: [
                StubAnswer(statusCode: 302, headers: ["Location": "/to"], body: Data(count: 1000)),
                answer(20),
            ]))
        let seen = Recorder<Int64>()
        let request = session.request(address)
            .downloadProgress { seen.record($0.completedUnitCount) }
        _ = await request.serializingData().response
        try await seen.values(2)
        #expect(seen.values == [10, 20])
    }

    @Test func `the progress of a retry begins at zero`() async throws {
        var broken = answer(30)
        broken.error = TransferError(code: .networkConnectionLost, reason: "lost")
        broken.failureOffset = 20
        let session = Session(
            transport: StubTransport(answers: [broken, answer(30)]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let seen = Recorder<Int64>()
        let request = session.request(address)
            .downloadProgress { seen.record($0.completedUnitCount) }
        _ = await request.serializingData().response
        try await seen.values(5)
        #expect(seen.values == [10, 20, 10, 20, 30])
    }

    @Test func `a finished request has its progress even without a progress closure`() async {
        let session = Session(transport: StubTransport(answers: [answer(35)]))
        let request = session.request(address)
        _ = await request.serializingData().response
        #expect(
            request.downloadProgress
                == TransferProgress(completedUnitCount: 35, totalUnitCount: 35))
    }

    // MARK: Progress and completions on different queues

    private func session(
        _ answer: StubAnswer, patience: Double, _ monitors: EventRecorder...
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.progressPatience = patience
        return Session(
            transport: StubTransport(answers: [answer]), configuration: configuration,
            eventMonitors: monitors)
    }

    @Test(arguments: ProgressKind.allCases, [true, false])
    func `a completion is called after pending progress closures of another queue`(
        kind: ProgressKind, isAwaited: Bool
    ) async throws {
        let recorder = EventRecorder()
        let session = session(answer(35), patience: 60, recorder)
        let told = Recorder<String>()
        let queue = DispatchQueue(label: "progress")
        queue.suspend()
        let request = kind.begin(
            session, address, progress: queue,
            completions: isAwaited ? nil : DispatchQueue(label: "completions"), told)
        _ = try await recorder.requestEvents()
        #expect(told.values == [])
        queue.resume()
        let count = kind == .upload ? 4 : 5
        #expect(
            try await told.values(count)
                == Array(repeating: "progress", count: count - 1) + ["completion"])
        withExtendedLifetime((session, request)) {}
    }

    @Test(arguments: ProgressKind.allCases, [true, false])
    func `late progress is dropped and does not delay the completion`(
        kind: ProgressKind, isCancelled: Bool
    ) async throws {
        var answer = answer(35)
        if isCancelled {
            answer.stallsAtFailure = true
            answer.failureOffset = 20
        }
        // A cancellation does not wait for progress closures, however long the patience is.
        let session = session(answer, patience: isCancelled ? 3600 : 0.05)
        let told = Recorder<String>()
        let queue = DispatchQueue(label: "progress")
        queue.suspend()
        let request = kind.begin(
            session, address, progress: queue, completions: DispatchQueue(label: "completions"),
            told)
        if isCancelled { request.cancel() }
        #expect(try await told.values(1) == ["completion"])
        queue.resume()
        await withCheckedContinuation { done in queue.async { done.resume() } }
        #expect(told.values == ["completion"])
        withExtendedLifetime(session) {}
    }

    @Test func `a completion is called after a running progress closure`() async throws {
        let recorder = EventRecorder()
        let session = session(answer(5), patience: 60, recorder)
        let told = Recorder<String>()
        let goesOn = DispatchSemaphore(value: 0)
        session.request(address)
            .downloadProgress(queue: DispatchQueue(label: "progress")) { _ in
                told.record("begins")
                goesOn.wait()
                told.record("ends")
            }
            .response(queue: DispatchQueue(label: "completions")) { _ in told.record("completion") }
        _ = try await recorder.requestEvents()
        goesOn.signal()
        #expect(try await told.values(3) == ["begins", "ends", "completion"])
        withExtendedLifetime(session) {}
    }

    @Test func `completions wait for queued and running progress closures until the timeout`() {
        var order = ProgressOrder()
        #expect(!order.holdsCompletions)
        order.queue()
        order.queue()
        #expect(order.holdsCompletions)
        let hasBegun = order.begin()
        #expect(hasBegun)
        order.dropQueued()
        // One call is running, the other was dropped.
        #expect(order.holdsCompletions)
        _ = order.end()
        #expect(!order.holdsCompletions)
        let isLate = !order.begin()
        #expect(isLate)

        var late = ProgressOrder()
        late.queue()
        late.queue()
        _ = late.begin()
        late.giveUp()
        #expect(!late.holdsCompletions)
        let isTooLate = !late.begin()
        #expect(isTooLate)
    }
}

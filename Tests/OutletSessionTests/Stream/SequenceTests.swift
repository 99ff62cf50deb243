import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@testable import OutletSession

@Suite(.timeLimit(.minutes(patience))) struct SequenceTests {
    let address = "http://example.test/get"

    private func collect<Value>(_ stream: StreamOf<Value>) async -> [Value] {
        var values: [Value] = []
        for await value in stream { values.append(value) }
        return values
    }

    /// The first attempt fails; the second is redirected and succeeds.
    private var session: Session {
        Session(
            transport: StubTransport(answers: [
                .failure(TransferErrors.lost), .redirect(to: "/to"),
                StubAnswer(body: Data(count: 30), chunkSize: 10),
            ]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
    }

    @Test func `a loop on an actor takes buffered values without leaving the actor`() async {
        let values = StreamOf<Int>(bufferingPolicy: .unbounded) { buffer in
            for value in 0..<1000 { buffer.yield(value) }
            buffer.finish()
        }
        let taken = await Self.takeAll(of: values)
        #expect(taken == Array(0..<1000))
    }

    /// Returns all values; `nil` if other code has run on the main actor in between.
    @MainActor private static func takeAll(of values: StreamOf<Int>) async -> [Int]? {
        let others = Recorder<Int>()
        let iterator = values.makeAsyncIterator()
        Task { @MainActor in others.record(1) }
        var taken: [Int] = []
        for _ in 0..<1000 {
            if let value = await iterator.next(isolation: MainActor.shared) { taken.append(value) }
        }
        return others.values.isEmpty ? taken : nil
    }

    @Test func `a cancelled loop takes no buffered value`() async {
        let values = StreamOf<Int>(bufferingPolicy: .unbounded) { $0.yield(1) }
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await values.makeAsyncIterator().next()
        }
        task.cancel()
        #expect(await task.value == nil)
    }

    @Test func `what waits for a request that is never started ends with its session`()
        async throws
    {
        var session: Session? = Session(
            transport: StubTransport(answers: []), startRequestsImmediately: false)
        let made = try #require(session)
        let ends = Recorder<String>()
        let handled = made.request(address).response {
            ends.record("\($0.error?.isSessionDeinitializedError == true)")
        }
        let looped = made.request(address)
        let requests = looped.urlRequests().makeAsyncIterator()
        let values = made.request(address).valuesWhenMade(bufferingPolicy: .unbounded) { $0.state }
            .makeAsyncIterator()
        let socket = made.webSocketRequest(to: "ws://example.test/")
        socket.send(.string("x")) { result in
            if case .failure(let error as SessionError) = result {
                ends.record("\(error.isSessionDeinitializedError)")
            }
        }
        _ = consume made
        session = nil
        #expect(try await ends.values(2) == ["true", "true"])
        #expect(await requests.next() == nil)
        #expect(await values.next() == nil)
        withExtendedLifetime((handled, looped, socket)) {}
    }

    @Test func `a loop over values of made requests begins with the last one`() async throws {
        let session = session
        let request = session.request(address)
        _ = await request.serializingData().response
        let late = await collect(
            request.valuesWhenMade(bufferingPolicy: .unbounded) { $0.retryCount })
        #expect(late == [1])
        withExtendedLifetime(session) {}
    }

    @Test func `loops get the events of a request and end with it`() async {
        let session = session
        let request = session.request(address, shouldAutomaticallyResume: false)
        let progress = request.downloadProgress().makeAsyncIterator()
        let requests = request.urlRequests().makeAsyncIterator()
        let tasks = request.urlSessionTasks().makeAsyncIterator()
        let responses = request.httpResponses().makeAsyncIterator()
        #expect(request.isInitialized)
        request.resume()
        var counts: [Int64] = []
        while let value = await progress.next() { counts.append(value.completedUnitCount) }
        #expect(counts == [10, 20, 30])
        var made = 0
        while await requests.next() != nil { made += 1 }
        #expect(made == 2)
        var begun: [UInt64] = []
        while let task = await tasks.next() { begun.append(task.identifier) }
        #expect(begun.count == 2)
        var codes: [Int] = []
        while let response = await responses.next() { codes.append(response.statusCode) }
        #expect(codes == [200])
    }

    @Test func `a loop gets the progress of an upload`() async {
        let session = Session(transport: StubTransport(answers: [.status(204)]))
        let request = session.upload(Data(count: 20_000), to: address)
        let progress = request.uploadProgress().makeAsyncIterator()
        request.resume()
        var last: TransferProgress?
        while let value = await progress.next() { last = value }
        #expect(last?.isFinished == true)
    }

    @Test func `a loop over a finished request gets its values and ends`() async {
        let session = Session(transport: StubTransport(answers: [.text("x")]))
        let request = session.request(address)
        _ = await request.serializingData().response
        #expect(await collect(request.urlRequests()).count == 1)
        #expect(await collect(request.urlSessionTasks()).count == 1)
        #expect(await collect(request.downloadProgress()).isEmpty)
    }

    @Test func `a loop ends when its request is released`() async {
        let session = Session(transport: StubTransport(answers: [.text("x")]))
        let iterator = session.request(address).urlRequests().makeAsyncIterator()
        #expect(await iterator.next() == nil)
    }

    @Test func `a loop ends when its task is cancelled`() async throws {
        let session = Session(transport: StubTransport(answers: [.silence]))
        let request = session.request(address)
        let seen = Recorder<Int>()
        let task = Task {
            for await _ in request.urlSessionTasks() { seen.record(1) }
        }
        request.resume()
        try await seen.values(1)
        task.cancel()
        await task.value
        #expect(!request.isCancelled)
        request.cancel()
    }

    @Test func `of two tasks that wait for one value, one gets nil at once`() async throws {
        let buffer = StreamBuffer<Int>(.unbounded)
        let taken = Recorder<Int?>()
        for _ in 0..<2 { Task { taken.record(await buffer.next(isolation: nil)) } }
        #expect(try await taken.values(1) == [nil])
        buffer.yield(1)
        #expect(try await taken.values(2) == [nil, 1])
    }

    @Test(arguments: [
        StreamOf<Int>.BufferingPolicy.bufferingOldest(1), .bufferingNewest(0), .bufferingOldest(0),
        .bufferingNewest(-1), .bufferingOldest(-1),
    ])
    func `no policy drops the value that tells of the end`(
        policy: StreamOf<Int>.BufferingPolicy
    ) async {
        let buffer = StreamBuffer<Int>(policy)
        for number in 0..<3 { buffer.yield(number) }
        buffer.yield(9, isLast: true)
        buffer.finish()
        var taken: [Int] = []
        while let next = await buffer.next(isolation: nil) { taken.append(next) }
        #expect(taken.last == 9 && taken.count <= 2)
    }

    @Test func `closing a buffer drops its values and calls their closures`() {
        let buffer = StreamBuffer<Int>(.unbounded)
        let dropped = Recorder<Int>()
        for number in 0..<3 { buffer.yield(number) { dropped.record(number) } }
        #expect(dropped.values.isEmpty)
        #expect(buffer.close())
        #expect(dropped.values == [0, 1, 2])
        buffer.yield(3) { dropped.record(3) }
        #expect(!buffer.close() && dropped.values == [0, 1, 2, 3])
    }

    @Test func `an async closure can accept or cancel at the head`() async {
        let session = Session(transport: StubTransport(answers: [.text("x")]))
        let refused = session.request(address).onHTTPResponse { response async in
            await Task.yield()
            return response.statusCode == 200 ? .cancel : .allow
        }
        #expect(
            await refused.serializingData().response.error?.isExplicitlyCancelledError == true)
        let seen = Recorder<Int>()
        let looked = session.request(address).onHTTPResponse { response in
            await Task.yield()
            seen.record(response.statusCode)
        }
        #expect(await looked.serializingString().response.value == "x")
        #expect(seen.values == [200])
    }
}

import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

@Suite struct DataStreamTaskTests {
    let address = "http://example.test/stream"

    private func session(_ text: String) -> Session {
        Session(
            transport: StubTransport(answers: [
                StubAnswer(body: Data(text.utf8), chunkSize: 4)
            ]))
    }

    /// Sends four bytes of the body, then nothing until the request is cancelled.
    private var stalling: Session {
        var answer = StubAnswer(body: Data("01234567".utf8), chunkSize: 4)
        answer.failureOffset = 4
        answer.stallsAtFailure = true
        return Session(transport: StubTransport(answers: [answer]))
    }

    @Test func `a loop gets all pieces, then the completion, then ends`() async {
        let session = session("0123456789")
        var values: [String] = []
        var completions = 0
        for await stream in session.streamRequest(address).streamTask().streamingStrings() {
            if let value = stream.value { values.append(value) }
            if stream.completion != nil { completions += 1 }
        }
        #expect(values == ["0123", "4567", "89"])
        #expect(completions == 1)
    }

    @Test func `values are decoded for a loop`() async {
        let session = session("12341234")
        var values: [Int] = []
        for await stream in session.streamRequest(address).streamTask()
            .streamingDecodables(Int.self)
        {
            if let value = stream.value { values.append(value) }
        }
        #expect(values == [1234, 1234])
    }

    @Test func `leaving a loop cancels the request`() async {
        let session = stalling
        let request = session.streamRequest(address)
        for await _ in request.streamTask().streamingData() { break }
        #expect(request.isCancelled)
    }

    @Test func `leaving a loop does not cancel the request without automaticallyCancelling`() async
    {
        let session = stalling
        let request = session.streamRequest(address)
        for await _ in request.streamTask().streamingData(automaticallyCancelling: false) { break }
        #expect(!request.isCancelled)
        request.cancel()
    }

    @Test func `cancelling the task ends its loop and the request`() async throws {
        let session = stalling
        let request = session.streamRequest(address)
        let seen = Recorder<Int>()
        let task = Task {
            for await stream in request.streamTask().streamingData() {
                seen.record(stream.value?.count ?? 0)
            }
        }
        try await seen.values(1)
        task.cancel()
        await task.value
        #expect(request.isCancelled)
        #expect(seen.values == [4])
    }

    @Test func `cancelling the stream's task ends the loop with the completion`() async {
        let session = stalling
        let task = session.streamRequest(address).streamTask()
        var error: SessionError?
        for await stream in task.streamingData() {
            if stream.value != nil { task.cancel() }
            error = stream.completion?.error
        }
        #expect(error?.isExplicitlyCancelledError == true)
    }

    @Test func `two loops over one request each get everything`() async {
        let session = session("0123456789")
        let request = session.streamRequest(address, shouldAutomaticallyResume: false)
        let task = request.streamTask()
        let streams = [task.streamingStrings(), task.streamingStrings()]
        let iterators = streams.map { $0.makeAsyncIterator() }
        request.resume()
        for iterator in iterators {
            var text = ""
            while let stream = await iterator.next() { text += stream.value ?? "" }
            #expect(text == "0123456789")
        }
    }

    @Test func `a stream with bufferingNewest drops its oldest elements when its buffer is full`()
        async throws
    {
        let session = session("0123456789")
        let request = session.streamRequest(address)
        let ended = Recorder<Int>()
        let iterator = request.streamTask()
            .streamingStrings(bufferingPolicy: .bufferingNewest(2)).makeAsyncIterator()
        request.responseStream { if $0.completion != nil { ended.record(1) } }
        try await ended.values(1)
        var left: [String?] = []
        while let stream = await iterator.next() { left.append(stream.value) }
        #expect(left == ["89", nil])
    }
}

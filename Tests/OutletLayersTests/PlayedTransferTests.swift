import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTesting
import Testing

@testable import OutletTransport

/// Transfers that return a given response.
@Suite struct PlayedTransferTests {
    private let response = HTTPResponse(url: URL(string: "http://a.test/"), statusCode: 200)
    private let queue = DispatchQueue(label: "played")

    private func job(_ delivery: BodyDelivery = .collect) -> TransferJob {
        TransferJob(
            request: HTTPRequest(url: URL(string: "http://a.test/")), delivery: delivery)
    }

    @Test func `a resume before the handler has returned its pause is not lost`() async {
        let recorder = PausingRecorder()
        let task = PlayedTransfer.start(
            KnownResult(TransferResult(response: response, body: Data("x".utf8))), for: job(),
            on: queue,
            handler: recorder)
        let result = await recorder.recorder.result
        #expect(result.body == Data("x".utf8))
        #expect(task.state == .completed)
    }

    @Test func `the body is written to the given file`() async throws {
        let path = URL.temporaryDirectory.appending(path: "Outlet_\(UUID()).part").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorder = Recorder()
        _ = PlayedTransfer.start(
            KnownResult(TransferResult(response: response, body: Data("content".utf8))),
            for: job(.file(path: path, offset: 0)),
            on: queue, handler: recorder)
        #expect(await recorder.result.body == nil)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("content".utf8))
    }

    @Test func `a suspended download does not end before it is resumed`() async throws {
        let path = URL.temporaryDirectory.appending(path: "Outlet_\(UUID()).part").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorder = Recorder()
        // Suspended while the file is written.
        let isSuspended = DispatchSemaphore(value: 0)
        DiskQueue.shared.async(flags: .barrier) { isSuspended.wait() }
        let task = PlayedTransfer.start(
            KnownResult(TransferResult(response: response, body: Data("content".utf8))),
            for: job(.file(path: path, offset: 0)), onCaller: true, on: queue, handler: recorder)
        task.suspend()
        isSuspended.signal()
        DiskQueue.shared.sync(flags: .barrier) {}
        queue.sync {}
        #expect(task.state == .suspended)
        task.resume()
        #expect(await recorder.result.error == nil)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("content".utf8))
    }

    @Test func `a file that cannot be written is an error`() async {
        let recorder = Recorder()
        _ = PlayedTransfer.start(
            KnownResult(TransferResult(response: response, body: Data("content".utf8))),
            for: job(.file(path: "/nowhere/at/all", offset: 0)), on: queue, handler: recorder)
        #expect(await recorder.result.error?.code == .cannotWriteToFile)
    }

    @Test func `an answer of a cache takes the time that it was suspended`() async {
        var result = TransferResult(response: response, body: Data("x".utf8))
        result.metrics.resourceFetchType = .localCache
        for isSuspended in [false, true] {
            let recorder = Recorder()
            let watch = Stopwatch()
            let task = PlayedTransfer.start(
                KnownResult(result), for: job(), isSuspended: isSuspended, onCaller: true,
                on: queue, handler: recorder)
            #expect((task.state == .suspended) == isSuspended)
            if isSuspended {
                while watch.seconds < 0.001 {}
                task.resume()
            }
            let total = await recorder.result.metrics.total
            #expect(isSuspended ? total > 0 : total == 0)
        }
    }

    @Test func `a handler that takes the body of a stored response in chunks gets no copy`() async {
        let recorder = ChunkRecorder()
        _ = PlayedTransfer.start(
            KnownResult(TransferResult(response: response, body: Data("x".utf8))), for: job(),
            onCaller: true, on: queue, handler: recorder)
        let result = await recorder.recorder.result
        #expect(recorder.chunks.withLock { $0 } == Data("x".utf8))
        #expect(result.body == nil)
        #expect(result.response == response)
    }

    @Test func `a cancelled transfer completes`() async {
        let recorder = Recorder()
        queue.suspend()
        let task = PlayedTransfer.start(
            KnownResult(TransferResult(response: response, body: Data())), for: job(), on: queue,
            handler: recorder)
        task.suspend()
        task.cancel()
        queue.resume()
        _ = await recorder.result
        #expect(task.state == .completed)
    }
}

/// Asks for chunks.
private final class ChunkRecorder: TransferHandler {
    let recorder = Recorder()
    let chunks = Lock(Data())

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision { .deliver(.chunks) }

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        chunks.withLock { $0 += Data(chunk) }
        return .proceed
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        recorder.transferDidFinish(task, result: result, turn: turn)
    }
}

/// Resumes the task, and then returns a pause.
private final class PausingRecorder: TransferHandler {
    let recorder = Recorder()

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        task.resume()
        return .pause
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        recorder.transferDidFinish(task, result: result, turn: turn)
    }
}

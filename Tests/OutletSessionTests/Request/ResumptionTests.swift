import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Finishes each transfer at once, and calls `willEnd` before the turn ends.
private final class OneTurnTransport: Transport {
    private final class Finished: TransferTask {
        let identifier = TransferIdentifier.next()
        func cancel() {}
        func suspend() {}
        func resume() {}
    }

    private let willEnd: @Sendable () -> Void

    init(willEnd: @escaping @Sendable () -> Void) { self.willEnd = willEnd }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let task = Finished()
        let turn = TransportTurn()
        let head = HTTPResponse(url: job.request.url, statusCode: 200)
        handler.transferDidFinish(
            task, result: TransferResult(response: head, body: Data("body".utf8)), turn: turn)
        willEnd()
        turn.end()
        return task
    }

    func shutDown() {}
}

@Suite struct `Tasks that await responses` {
    @Test func `a task is resumed after all transfers of a turn were processed`() async throws {
        let awaited = Lock<DataTask<Data>?>(nil)
        let isFilled = Recorder<Bool>()
        let transport = OneTurnTransport {
            isFilled.record(
                awaited.withLock { $0 }?.outcome.place.waiters.withLock { $0.isOver } ?? true)
        }
        let session = Session(transport: transport, startRequestsImmediately: false)
        let request = session.request("http://a.test/")
        let task = request.serializingData()
        awaited.withLock { $0 = task }
        request.resume()
        #expect(try await task.value == Data("body".utf8))
        #expect(isFilled.values == [false])
        awaited.withLock { $0 = nil }
        withExtendedLifetime(session) {}
    }
}

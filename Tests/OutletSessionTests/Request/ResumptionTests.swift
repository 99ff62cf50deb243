import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Finishes each transfer at once, and calls `willEnd` before the turn ends.
private final class OneTurnTransport: Transport {
    fileprivate final class Finished: TransferTask {
        let identifier = TransferIdentifier.next()
        func cancel() {}
        func suspend() {}
        func resume() {}
    }

    private let willEnd: @Sendable (TransportTurn) -> Void

    init(willEnd: @escaping @Sendable (TransportTurn) -> Void) { self.willEnd = willEnd }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let task = Finished()
        let turn = TransportTurn()
        let head = HTTPResponse(url: job.request.url, statusCode: 200)
        handler.transferDidFinish(
            task, result: TransferResult(response: head, body: Data("body".utf8)), turn: turn)
        willEnd(turn)
        turn.end()
        return task
    }

    func shutDown() {}
}

/// Ends a transfer when the test asks for it, and calls `didShutDown` when it is shut down.
private final class HeldTransport: Transport {
    let handlers = Recorder<any TransferHandler>()
    private let didShutDown: @Sendable () -> Void

    init(didShutDown: @escaping @Sendable () -> Void) { self.didShutDown = didShutDown }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        defer { handlers.record(handler) }
        return OneTurnTransport.Finished()
    }

    func shutDown() { didShutDown() }
}

@Suite(.timeLimit(.minutes(patience))) struct `Tasks that await responses` {
    @Test func `a task continues after the turn, on the thread that takes its work`() async throws {
        let threads = Recorder<pthread_t>()
        let transport = OneTurnTransport { turn in
            var work = TransportTurn.OwnWork()
            #expect(turn.takeOwnWork(into: &work))
            #expect(threads.values.isEmpty)
            work.run(TransportTurn.WaitingTasks())
            #expect(threads.values.map { pthread_equal($0, pthread_self()) != 0 } == [true])
        }
        let session = Session(transport: transport, startRequestsImmediately: false)
        let request = session.request("http://a.test/")
        let task = request.serializingData()
        let awaiting = Task.detached {
            let value = try await task.value
            threads.record(pthread_self())
            return value
        }
        while task.outcome.place.waiting.withLock({ $0.first == nil }), !Task.isCancelled {
            await Task.yield()
        }
        request.resume()
        #expect(try await awaiting.value == Data("body".utf8))
        withExtendedLifetime(session) {}
    }

    @Test(.timeLimit(.minutes(1)))
    func `a shutdown ends although a completion handler blocks the callback queue`() async {
        let queue = DispatchQueue(label: "callbacks")
        let blocked = DispatchSemaphore(value: 0)
        defer { blocked.signal() }
        queue.async { blocked.wait() }
        let session = Session(
            transport: StubTransport { _ in .silence }, startRequestsImmediately: false,
            callbackQueue: queue)
        session.request("http://a.test/").response { _ in }.resume()
        #expect(await session.shutDown(deadline: .zero).cut == 1)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a shutdown ends after the completion of a stream was enqueued`() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let completions = Recorder<Bool>()
        let counts = Recorder<Int>()
        let transport = HeldTransport {
            queue.sync {}
            counts.record(completions.values.count)
        }
        let session = Session(
            transport: transport, startRequestsImmediately: false, callbackQueue: queue)
        session.streamRequest("http://a.test/").responseStream { stream in
            if stream.completion != nil { completions.record(true) }
        }.resume()
        let handler = try #require(try await transport.handlers.values(1).first)
        defer { transport.handlers.removeAll() }
        async let report = session.shutDown(deadline: .seconds(3600))
        let other = session.request("http://a.test/")
        while session.core.register(other) == nil, !Task.isCancelled {
            _ = session.core.unregister(other)
            await Task.yield()
        }
        let turn = TransportTurn()
        let head = HTTPResponse(url: nil, statusCode: 200)
        handler.transferDidFinish(
            OneTurnTransport.Finished(), result: TransferResult(response: head), turn: turn)
        turn.end()
        #expect(await report.cut == 0)
        #expect(counts.values == [1])
    }
}

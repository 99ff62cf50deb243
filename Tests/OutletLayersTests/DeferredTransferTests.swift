import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTesting
import OutletTransport
import Testing

@testable import OutletLayers

/// Transfers that wait for a decision, while they are suspended or cancelled.
@Suite final class DeferredTransferTests: Sendable {
    private typealias Answer = @Sendable (Result<TransferJob, TransferError>) -> Void

    private let network = StubTransport(answers: [.status(204)])
    private let recorder = Recorder()
    private let answer = Lock<Answer?>(nil)
    private let queue = DispatchQueue(label: "test.deferred")

    /// Starts a transfer whose decision is made by ``decide()``.
    private func start() -> DeferredTransfer {
        let job = TransferJob(request: HTTPRequest(url: URL(string: "http://a.test/")))
        return DeferredTransfer.start(
            job, on: queue, handler: recorder
        ) { answer in
            self.answer.withLock { $0 = answer }
            return {}
        } begin: { job, handler in
            self.network.start(job, handler: handler)
        }
    }

    private func decide() {
        let job = TransferJob(request: HTTPRequest(url: URL(string: "http://a.test/")))
        answer.withLock { $0.take() }?(.success(job))
    }

    @Test func `a transfer that is suspended before its decision begins at resume`() async {
        let task = start()
        task.suspend()
        decide()
        #expect(network.requests.isEmpty)
        task.resume()
        #expect(await recorder.result.response?.statusCode == 204)
        #expect(network.requests.count == 1)
    }

    @Test func `a transfer that is cancelled while it waits for resume never begins`() async {
        let task = start()
        task.suspend()
        decide()
        task.cancel()
        #expect(await recorder.result.error?.code == .cancelled)
        task.resume()
        #expect(network.requests.isEmpty)
    }

    @Test func `a transfer that is resumed before its decision begins with it`() async {
        let task = start()
        task.suspend()
        task.resume()
        #expect(network.requests.isEmpty)
        decide()
        #expect(await recorder.result.response?.statusCode == 204)
    }

    @Test func `a pending transfer inside a task follows calls made before it was known`() {
        let request = HTTPRequest(url: URL(string: "http://a.test/"))
        let inner = InnerTransfer(request, reportsProgress: false)
        let task = start()
        _ = inner.begin { _ in
            inner.suspend()
            inner.control(task)
            decide()
            #expect(network.requests.isEmpty)
            return task
        }
        // The transfer ends on the queue.
        queue.suspend()
        #expect(inner.cancel() == false)
        #expect(task.state == .canceling)
        queue.resume()
    }
}

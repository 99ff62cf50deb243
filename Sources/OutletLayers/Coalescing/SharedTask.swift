import Dispatch
import OutletHTTP
import OutletTransport

/// The transfer of one job, as its handler sees it, that shares a transfer with other jobs.
final class SharedTask: TransferTask {
    let identifier = TransferIdentifier.next()
    let reportsProgress: Bool
    private let job: TransferJob
    private let transfer: SharedTransfer
    private let queue: DispatchQueue
    /// The delivery of the result.
    private let inner: InnerTransfer

    private struct State: Sendable {
        /// Set to `nil` at the end, so that the end is reported only once.
        var handler: (any TransferHandler)?
        var request: HTTPRequest
        var proxy = ""
        var isServerVerified = true
        var source = ResponseSource.network
        var credentialsSent = 0
    }
    private let mutable: Lock<State>

    init(
        _ job: TransferJob, _ transfer: SharedTransfer, handler: any TransferHandler,
        queue: DispatchQueue
    ) {
        self.job = job
        self.transfer = transfer
        self.queue = queue
        reportsProgress = job.reportsProgress
        inner = InnerTransfer(job.request, reportsProgress: job.reportsProgress)
        mutable = Lock(State(handler: handler, request: job.request))
    }

    var state: TransferState { inner.state }
    var currentRequest: HTTPRequest? { mutable.withLock { $0.request } }
    var proxy: String { mutable.withLock { $0.proxy } }
    var isServerVerified: Bool { mutable.withLock { $0.isServerVerified } }
    var source: ResponseSource { mutable.withLock { $0.source } }
    var credentialsSent: Int { mutable.withLock { $0.credentialsSent } }

    func cancel() {
        let isMine = inner.cancel()
        transfer.leave(self)
        if isMine { queue.async { self.finish(TransferResult(error: .cancelled)) } }
    }

    func suspend() {
        inner.suspend()
        transfer.suspend(self, true)
    }

    func resume() {
        inner.resume()
        transfer.suspend(self, false)
    }

    func reportProgress() {
        inner.reportProgress()
        transfer.reportProgress()
    }

    // MARK: Callbacks of the shared transfer

    private var handler: (any TransferHandler)? { mutable.withLock { $0.handler } }

    func notifyPending() { handler?.transferIsPending(self) }

    func notify(_ refusal: any Error) { handler?.transfer(self, didRefuseServer: refusal) }

    func notify(used head: HTTPResponse, of task: any TransferTask, _ turn: TransportTurn) {
        note(task)
        handler?.transfer(self, didUse: head, turn: turn)
    }

    func notify(interim head: HTTPResponse, _ turn: TransportTurn) {
        _ = handler?.transfer(self, didReceive: head, turn: turn)
    }

    func notify(_ progress: TransferCounts, _ turn: TransportTurn) {
        handler?.transfer(self, didProgress: progress, turn: turn)
    }

    /// Copies what handlers ask about the shared transfer.
    private func note(_ task: any TransferTask) {
        mutable.withLock { state in
            state.request = task.currentRequest ?? job.request
            state.proxy = task.proxy
            state.isServerVerified = task.isServerVerified
            state.credentialsSent = task.credentialsSent
        }
    }

    /// Reports the result as if the transfer were this task's own.
    ///
    /// - Parameters:
    ///   - result: The result of the shared transfer.
    ///   - task: The shared transfer.
    ///   - isFirst: Whether this task reports the transfer's source as its own; exactly one task
    ///     does, and the others report `shared`.
    func play(_ result: TransferResult, of task: any TransferTask, isFirst: Bool) {
        note(task)
        mutable.withLock { $0.source = isFirst ? task.source : .shared }
        let isBegun = inner.begin { wishes in
            // Progress was already reported during the shared transfer.
            var job = job
            job.reportsProgress = false
            return PlayedTransfer.start(
                KnownResult(result), for: job, isSuspended: wishes.isSuspended, on: queue,
                handler: self)
        }
        if !isBegun { queue.async { self.finish(TransferResult(error: .cancelled)) } }
    }

    /// Reports the end to the handler, at most once.
    private func finish(_ result: TransferResult) {
        let turn = TransportTurn()
        defer { turn.end() }
        finish(result, turn: turn)
    }

    private func finish(_ result: TransferResult, turn: TransportTurn) {
        let handler = mutable.withLock { state in
            defer { state.handler = nil }
            return state.handler
        }
        inner.complete()
        handler?.transferDidFinish(self, result: result, turn: turn)
    }
}

/// Forwards the events of the delivered result.
extension SharedTask: TransferHandler {
    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        inner.note(task)
        return handler?.transfer(self, didReceive: head, turn: turn) ?? .cancel
    }

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        handler?.transfer(self, didReceive: chunk, turn: turn) ?? .cancel
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        inner.end(task)
        finish(result, turn: turn)
    }
}

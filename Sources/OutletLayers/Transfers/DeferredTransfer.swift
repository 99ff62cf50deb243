package import Dispatch
package import OutletHTTP
package import OutletTransport

/// A transfer that begins after an asynchronous decision about it.
///
/// If it is cancelled before, it never begins.
package class DeferredTransfer: TransferTask, @unchecked Sendable {
    // @unchecked because everything is constant except state with its own lock, in the subclass
    // too.

    /// Decides whether the transfer begins, and with which job.
    ///
    /// - Parameter answer: Receives the decision. Call it once, on any thread.
    /// - Returns: A closure to call when the decision is no longer needed.
    package typealias Question<Job> = (
        _ answer: @escaping @Sendable (Result<Job, TransferError>) -> Void
    ) -> @Sendable () -> Void

    package let identifier = TransferIdentifier.next()
    private let queue: DispatchQueue
    let inner: InnerTransfer

    private struct State: Sendable {
        /// Set to `nil` at the end, so that the end is reported only once.
        var handler: (any TransferHandler)?
        var abandon: (@Sendable () -> Void)?
        /// Begins the transfer of a task that was suspended when the decision was made.
        var held: (@Sendable () -> Void)?
        var isAnswered = false
        var isCancelled = false
        var isSuspended = false
    }
    private let mutable: Lock<State>

    /// Starts the decision, and begins the transfer when it has been made.
    ///
    /// - Parameters:
    ///   - job: The job to send.
    ///   - queue: Calls the handler if the job ends without a transfer.
    ///   - handler: Receives the events, as from a transport.
    ///   - question: Decides about the job; called before this returns.
    ///   - begin: Begins the transfer of the job that was decided; called on the thread of the
    ///     decision.
    /// - Returns: The transfer.
    package static func start(
        _ job: TransferJob, on queue: DispatchQueue, handler: any TransferHandler,
        asking question: Question<TransferJob>,
        begin: @escaping @Sendable (TransferJob, any TransferHandler) -> any TransferTask
    ) -> DeferredTransfer {
        let task = DeferredTransfer(
            job.request, reportsProgress: job.reportsProgress, on: queue, handler)
        task.ask(question) { job in
            var job = job
            return task.inner.begin { wishes in
                job.reportsProgress = wishes.reportsProgress
                return begin(job, task)
            }
        }
        return task
    }

    init(
        _ request: HTTPRequest, reportsProgress: Bool, on queue: DispatchQueue,
        _ handler: any TransferHandler
    ) {
        self.queue = queue
        inner = InnerTransfer(request, reportsProgress: reportsProgress)
        mutable = Lock(State(handler: handler))
    }

    /// Starts the decision, and begins the transfer when it has been made.
    ///
    /// - Parameters:
    ///   - question: Decides about the job; called before this returns.
    ///   - begin: Begins the transfer, and returns whether it has begun.
    func ask<Job: Sendable>(
        _ question: Question<Job>, begin: @escaping @Sendable (Job) -> Bool
    ) {
        handler?.transferIsPending(self)
        let abandon = question { answer in
            self.mutable.withLock { state in
                state.isAnswered = true
                state.abandon = nil
            }
            switch answer {
            case .success(let job):
                self.beginUnlessSuspended { if !begin(job) { self.endLater(.cancelled) } }
            case .failure(let error): self.endLater(error)
            }
        }
        let isTooLate = mutable.withLock { state in
            guard !state.isAnswered else { return false }
            state.abandon = abandon
            return state.isCancelled
        }
        if isTooLate { abandon() }
    }

    /// Begins the transfer; if the task is suspended, at its `resume()`.
    private func beginUnlessSuspended(_ begin: @escaping @Sendable () -> Void) {
        let isHeld = mutable.withLock { state in
            guard state.isSuspended, !state.isCancelled else { return false }
            state.held = begin
            return true
        }
        if !isHeld { begin() }
    }

    // MARK: State and control

    package var state: TransferState { inner.state }
    package var currentRequest: HTTPRequest? { inner.currentRequest }
    package var proxy: String { inner.proxy }
    package var isServerVerified: Bool { inner.isServerVerified }
    package var source: ResponseSource { inner.source }
    package var credentialsSent: Int { inner.credentialsSent }

    package func cancel() {
        guard inner.cancel() else { return }
        let abandon = mutable.withLock { state in
            state.isCancelled = true
            state.held = nil
            return state.abandon.take()
        }
        abandon?()
        endLater(.cancelled)
    }

    package func suspend() {
        mutable.withLock { $0.isSuspended = true }
        inner.suspend()
    }

    package func resume() {
        let begin = mutable.withLock { state in
            state.isSuspended = false
            return state.held.take()
        }
        inner.resume()
        begin?()
    }

    package func reportProgress() { inner.reportProgress() }

    var handler: (any TransferHandler)? { mutable.withLock { $0.handler } }

    /// Ends the task without a transfer.
    private func endLater(_ error: TransferError) {
        queue.async {
            let turn = TransportTurn()
            self.finish(TransferResult(error: error), turn: turn)
            turn.end()
        }
    }

    /// Reports the end to the handler, at most once.
    func finish(_ result: TransferResult, turn: TransportTurn) {
        let handler = mutable.withLock { $0.handler.take() }
        inner.complete()
        handler?.transferDidFinish(self, result: result, turn: turn)
    }
}

extension DeferredTransfer: TransferHandler {
    package func transferIsPending(_ task: any TransferTask) { inner.control(task) }

    package func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
        handler?.transfer(self, didRefuseServer: refusal)
    }

    package func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn)
    {
        inner.note(task)
        handler?.transfer(self, didUse: head, turn: turn)
    }

    package func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError) {
        try handler?.transferNeedsNewBody(self)
    }

    package func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        inner.note(task)
        return handler?.transfer(self, didReceive: head, turn: turn) ?? .cancel
    }

    package func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        handler?.transfer(self, didReceive: chunk, turn: turn) ?? .cancel
    }

    package func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        inner.note(task)
        handler?.transfer(self, didProgress: progress, turn: turn)
    }

    package func transferDidFinish(
        _ task: any TransferTask, result: TransferResult, turn: TransportTurn
    ) {
        inner.end(task)
        finish(result, turn: turn)
    }
}

import Dispatch
import OutletHTTP
import OutletTransport

/// A transfer that is sent again with a credential when a challenge requests one.
final class AuthenticationTask: TransferTask {
    let identifier = TransferIdentifier.next()
    private let layer: AuthenticationLayer
    private let job: TransferJob
    private let authentication: AuthenticationState
    private let inner: InnerTransfer

    private struct State: Sendable {
        /// Set to `nil` at the end, so that the end is reported only once.
        var handler: (any TransferHandler)?
        var challenge = ChallengeBody()
    }
    private let mutable: Lock<State>

    static func start(
        _ job: TransferJob, _ layer: AuthenticationLayer, handler: any TransferHandler
    ) -> any TransferTask {
        let task = AuthenticationTask(job, layer, handler)
        task.begin()
        return task
    }

    private init(
        _ job: TransferJob, _ layer: AuthenticationLayer, _ handler: any TransferHandler
    ) {
        self.job = job
        self.layer = layer
        authentication = AuthenticationState(
            layer, job.request, own: job.credential, memory: job.memory, opensWebSocket: false)
        inner = InnerTransfer(job.request, reportsProgress: job.reportsProgress)
        mutable = Lock(State(handler: handler))
    }

    // MARK: State and control

    var state: TransferState { inner.state }
    var currentRequest: HTTPRequest? { inner.currentRequest }
    var proxy: String { inner.proxy }
    var isServerVerified: Bool { inner.isServerVerified }
    var source: ResponseSource { inner.source }
    var credentialsSent: Int { authentication.sent }

    func cancel() {
        if inner.cancel() { layer.queue.async { self.end(.cancelled) } }
    }

    func suspend() { inner.suspend() }
    func resume() { inner.resume() }
    func reportProgress() { inner.reportProgress() }

    // MARK: Transfers

    private func begin() {
        let additions = authentication.next()
        var job = job
        job.credential = additions.credential
        job.credentialUse = additions.use
        job.challenge = additions.challenge
        job.proxyCredentials = additions.toProxies
        let isBegun = inner.begin { wishes in
            job.reportsProgress = wishes.reportsProgress
            return layer.next.start(job, handler: self)
        }
        if !isBegun { end(.cancelled) }
    }

    /// Sends the request again, with the chosen credential.
    private func sendAgain() {
        guard case .stream = job.request.body else { return begin() }
        // Rewinding a stream calls user code: not on the transport's thread.
        layer.queue.async {
            guard let handler = self.handler else { return }
            do throws(TransferError) {
                try handler.transferNeedsNewBody(self)
                self.begin()
            } catch {
                self.end(error)
            }
        }
    }

    // MARK: Ending

    private var handler: (any TransferHandler)? { mutable.withLock { $0.handler } }

    /// Ends the task without a transfer.
    private func end(_ error: TransferError) {
        let turn = TransportTurn()
        finish(TransferResult(error: error), turn: turn)
        turn.end()
    }

    /// Reports the end to the handler, at most once.
    private func finish(_ result: TransferResult, turn: TransportTurn) {
        let handler = mutable.withLock { state in
            defer { state.handler = nil }
            return state.handler
        }
        inner.complete()
        handler?.transferDidFinish(self, result: result, turn: turn)
    }
}

extension AuthenticationTask: TransferHandler {
    func transferIsPending(_ task: any TransferTask) {
        inner.control(task)
        handler?.transferIsPending(self)
    }

    func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
        handler?.transfer(self, didRefuseServer: refusal)
    }

    func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn) {
        inner.note(task)
        handler?.transfer(self, didUse: head, turn: turn)
        authentication.noteAnswered(head)
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        inner.note(task)
        guard let handler else { return .cancel }
        guard head.isFinal else { return handler.transfer(self, didReceive: head, turn: turn) }
        guard authentication.answer(to: head, from: task) else {
            authentication.settle(head)
            return handler.transfer(self, didReceive: head, turn: turn)
        }
        mutable.withLock { $0.challenge.begin() }
        handler.transfer(self, didUse: head, turn: turn)
        // The challenge's body is dropped in `transfer(_:didReceive:turn:)`.
        return .deliver(.chunks)
    }

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        let (handler, dropping) = mutable.withLock { ($0.handler, $0.challenge.drop(chunk)) }
        if let dropping { return dropping }
        return handler?.transfer(self, didReceive: chunk, turn: turn) ?? .cancel
    }

    func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        let handler = mutable.withLock { $0.challenge.isExpected ? nil : $0.handler }
        handler?.transfer(self, didProgress: progress, turn: turn)
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        inner.end(task)
        let (handler, isChallenge) = mutable.withLock {
            ($0.handler, $0.challenge.end(with: result))
        }
        if isChallenge { return sendAgain() }
        if let head = result.tunnelRefusal?.head,
            authentication.answer(to: head, from: task, refusesTunnel: true)
        {
            handler?.transfer(self, didUse: head, turn: turn)
            return sendAgain()
        }
        finish(result, turn: turn)
    }
}

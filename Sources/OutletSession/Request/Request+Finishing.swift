import Dispatch
import OutletHTTP
import OutletLayers
public import OutletTransport

/// The end of a transfer: follows redirects, else validates the response.
extension Request: TransferHandler {
    /// Follows a redirect, or evaluates the result of the attempt.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - result: Its result.
    ///   - turn: Collects work for dispatch queues until the turn ends; do not keep it.
    ///
    /// Thread: the transport's.
    public func transferDidFinish(
        _ task: any TransferTask, result: TransferResult, turn: TransportTurn
    ) {
        // Results without an error, which are most, are not copied.
        guard let error = result.error else { return follow(result, of: task, turn: turn) }
        var result = result
        if error.code == .cancelled, mutable.withLock({ $0.takeRedirectCut() }) {
            result.error = nil
            return follow(result, of: task, turn: turn)
        }
        if error.code == .unsupportedURL {
            announce(task)
            switch fileAnswer() {
            case .read: return transfer(isHop: true, readsFile: true)
            case .refused: result.error = .fileURLRefused
            case .noFile: break
            }
        }
        result.error = result.error?.naming(task.currentRequest, opensWebSocket: opensWebSocket)
        follow(result, of: task, turn: turn)
    }

    /// Continues with another hop, or ends the attempt.
    private func follow(
        _ result: TransferResult, of task: any TransferTask, turn: TransportTurn
    ) {
        if let next = nextHop(after: result), let response = result.response {
            let attempt = mutable.withLock { $0.machine.attempt }
            let hop = Hop(task: task, response: response, result: result, attempt: attempt)
            announce(task)
            notifyExchange(result, of: task)
            return proceed(to: next, after: hop)
        }
        if let head = result.tunnelRefusal?.head {
            notifyChallenges(of: head, to: task)
        }
        if let response = result.response, response.isRedirect,
            result.error?.mayBeOfDroppedBody != false, redirect(task, response, result)
        {
            return
        }
        conclude(task, result, turn: turn)
    }

    /// Ends the attempt with a transfer's result, and evaluates it.
    ///
    /// - Parameter turn: The transport's turn; `nil` outside of the transport's thread.
    func conclude(_ task: any TransferTask, _ result: TransferResult, turn: TransportTurn?) {
        var calls: LaterCalls = []
        var queue: DispatchQueue?
        let evaluation = mutable.withLock { mutable -> Evaluation? in
            let attempt = mutable.machine.attempt
            guard mutable.machine.beginEvaluating(attempt: attempt) else { return nil }
            calls = keep(task, &mutable)
            if let observers = mutable.observers {
                calls += observers.finish(result.metrics, of: self)
            }
            // Unwrapped, because the optional would be copied through its value witness table.
            if let response = result.response {
                mutable.attempt.receive(response)
            } else {
                mutable.attempt.receive(nil)
            }
            if let trailers = result.trailers { mutable.watched().trailers = trailers }
            if let error = result.error {
                mutable.attempt.fail(.sessionTaskFailed(error: error.cause ?? error))
            }
            mutable.attempt.conclude(
                result.metrics, take(result, &mutable), redirects: mutable.machine.redirects)
            let effort = validation(&mutable)
            queue = finishingQueue(
                &mutable, inTransport: turn != nil, isQuick: effort != .slow && !isMonitored)
            return Evaluation(attempt: attempt, validates: effort != .none)
        }
        guard let evaluation else { return }
        for call in calls { call() }
        if isMonitored {
            notifyEnd(result, of: task)
            notifyExchange(result, of: task)
        }
        guard let turn else {
            return onFinishingQueue { self.evaluate(task, evaluation, at: $0) }
        }
        guard let queue else { return evaluate(task, evaluation, at: .transport(turn)) }
        let isOwn = core.ownsCallbackQueue && queue === core.callbackQueue
        turn.perform(on: queue, isOwn: isOwn) { [self] in
            evaluate(task, evaluation, at: .queue(queue))
        }
    }

    /// Sets the error of the attempt, unless it has one.
    func note(_ error: SessionError) {
        mutable.withLock { $0.attempt.fail(error) }
    }

    /// Ends an attempt that failed before its transfer: calls the retriers, or finishes.
    func fail(with error: SessionError, attempt: Int, mayRetry: Bool) {
        let isMine = mutable.withLock { mutable in
            guard mutable.machine.beginEvaluating(attempt: attempt) else { return false }
            mutable.attempt.fail(error)
            return true
        }
        guard isMine else { return }
        onFinishingQueue { place in
            self.willEndEarly(isAbandoned: false)
            if mayRetry {
                self.retryOrFinish(attempt: attempt, at: place)
            } else {
                self.finish(at: place)
            }
        }
    }

    /// Ends the request in any phase, because its session was invalidated or deallocated.
    func abandon(with error: SessionError) {
        let (isMine, wait) = mutable.withLock { mutable -> (Bool, (any PendingWait)?) in
            let isConsulting = mutable.machine.endConsulting()
            guard isConsulting || mutable.machine.beginFinishing() else { return (false, nil) }
            mutable.attempt.fail(error)
            return (!isConsulting, isConsulting ? mutable.wait : nil)
        }
        wait?.cancel(error)
        if isMine { finishOnQueue(isAbandoned: true) }
    }

    /// - Parameter isAbandoned: Whether the session has ended the request.
    func finishOnQueue(isAbandoned: Bool = false) {
        let wait = mutable.withLock { mutable in
            defer { mutable.wait = nil }
            return mutable.wait
        }
        wait?.cancel(error ?? .explicitlyCancelled)
        if core.hasOutcomeMiddleware { endJudging() }
        if core.hasMiddleware { endInterception() }
        monitors?.observe(.didFinish, of: self)
        onFinishingQueue { place in
            self.willEndEarly(isAbandoned: isAbandoned)
            self.serializeNext(at: place)
        }
    }

    // MARK: Queues

    func onFinishingQueue(_ body: @escaping @Sendable (FinishingPlace) -> Void) {
        let queue = mutable.withLock { mutable in
            finishingQueue(&mutable, inTransport: false, isQuick: false)
        }
        let place = queue ?? core.callbackQueue
        place.async { body(.queue(place)) }
    }

    /// The request's finishing queue; `nil` for the transport's thread.
    ///
    /// The queue of the first completion handler, unless the session has a serialization queue: so
    /// that validation, serialization and completion take one thread switch.
    private func finishingQueue(
        _ mutable: inout Mutable, inTransport: Bool, isQuick: Bool
    ) -> DispatchQueue? {
        if core.deliversInline, inTransport { return nil }
        if let queue = core.explicitSerializationQueue
            ?? ownFinishingQueue
        {
            return queue
        }
        switch mutable.handlers.firstDestination {
        case nil: return core.callbackQueue
        case .queue(let queue)?: return queue ?? core.callbackQueue
        case .anywhere?, .tasks?:
            let isQuick =
                isQuick && inTransport
                && mutable.handlers.waiting.allSatisfy {
                    $0.isQuick && $0.destination.isAnywhere
                }
            return isQuick ? nil : core.serializationQueue
        }
    }
}

/// How an attempt is evaluated.
struct Evaluation: Sendable {
    let attempt: Int
    let validates: Bool
}

extension TransferError {
    /// Whether only the body has failed: that of a redirect that is followed is not used.
    fileprivate var mayBeOfDroppedBody: Bool {
        switch code {
        case .cannotDecodeContentData, .decompressionLimitExceeded, .networkConnectionLost: true
        default: false
        }
    }
}

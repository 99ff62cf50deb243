import Dispatch
import OutletHTTP

/// From a transfer's end to the user's completions: redirect, validate, retry, serialize, deliver.
extension Request: TransferHandler {
    /// Follows a redirect, or takes the result to the validators.
    public func transferDidFinish(
        _ task: any TransferTask, result: TransferResult, turn: TransportTurn
    ) {
        if result.error == nil, let response = result.response, response.isRedirect,
            redirect(task, response, result)
        {
            return
        }
        conclude(task, result, turn: turn)
    }

    /// Takes a result as the attempt's last; outside a transport's turn without one.
    func conclude(_ task: any TransferTask, _ result: TransferResult, turn: TransportTurn?) {
        let attempt = mutable.withLock { mutable -> Int? in
            let attempt = mutable.machine.attempt
            guard mutable.machine.beginEvaluating(attempt: attempt) else { return nil }
            mutable.response = result.response
            var metrics = result.metrics
            metrics.redirectCount = mutable.redirects
            metrics.redirectDuration = mutable.redirectDuration
            mutable.metrics.append(metrics)
            if mutable.error == nil, let error = result.error {
                mutable.error = .sessionTaskFailed(error: error)
            }
            take(result, &mutable)
            return attempt
        }
        guard let attempt else { return }
        core.monitors?.request(self, didGatherMetrics: result.metrics)
        guard let turn else {
            onFinishingQueue { self.evaluate(task, attempt: attempt, at: $0) }
            return
        }
        guard let queue = finishingQueue(inTransport: true) else {
            evaluate(task, attempt: attempt, at: .transport(turn))
            return
        }
        let work = Evaluation(request: self, task: task, attempt: attempt, queue: queue)
        turn.perform(work, on: queue)
    }

    /// A step before the transfer failed: no task, straight to the retriers or to the end.
    func fail(with error: SessionError, attempt: Int, mayRetry: Bool) {
        let isMine = mutable.withLock { mutable in
            guard mutable.machine.beginEvaluating(attempt: attempt) else { return false }
            if mutable.error == nil { mutable.error = error }
            return true
        }
        guard isMine else { return }
        onFinishingQueue { place in
            if mayRetry {
                self.retryOrFinish(attempt: attempt, at: place)
            } else {
                self.finish(at: place)
            }
        }
    }

    /// Ends the request whatever it is doing: its session goes away.
    func abandon(with error: SessionError) {
        let isMine = mutable.withLock { mutable in
            guard mutable.machine.beginFinishing() else { return false }
            if mutable.error == nil { mutable.error = error }
            return true
        }
        if isMine { onFinishingQueue { self.serializeNext(at: $0) } }
    }

    func finishOnQueue() {
        onFinishingQueue { self.serializeNext(at: $0) }
    }

    // MARK: Where

    private func onFinishingQueue(_ body: @escaping @Sendable (FinishingPlace) -> Void) {
        let queue = finishingQueue(inTransport: false) ?? core.callbackQueue
        queue.async { body(.queue(queue)) }
    }

    /// The queue to finish on; `nil` for the transport's thread.
    ///
    /// One hop serves validation, serialization and the completion: it goes to where the first
    /// completion is wanted, unless the session has a queue for serialization.
    private func finishingQueue(inTransport: Bool) -> DispatchQueue? {
        mutable.withLock { mutable -> DispatchQueue? in
            if core.deliversInline, inTransport { return nil }
            if let queue = core.explicitSerializationQueue { return queue }
            guard let handler = mutable.responseHandlers.first else { return core.callbackQueue }
            guard case .anywhere = handler.destination else {
                if case .queue(let queue?) = handler.destination { return queue }
                return core.callbackQueue
            }
            let isQuick =
                inTransport && core.monitors == nil && core.serializationIsQuick
                && validatesQuickly(mutable)
                && mutable.responseHandlers.allSatisfy { handler in
                    guard case .anywhere = handler.destination else { return false }
                    return handler.isQuick
                }
            return isQuick ? nil : core.serializationQueue
        }
    }

    // MARK: Validate and retry

    fileprivate func evaluate(_ task: any TransferTask, attempt: Int, at place: FinishingPlace) {
        runValidators()
        core.monitors?.request(self, didCompleteTask: task, with: error)
        retryOrFinish(attempt: attempt, at: place)
    }

    private func retryOrFinish(attempt: Int, at place: FinishingPlace) {
        guard let error, !isCancelled, let retrier = core.retriers(for: interceptor),
            let session = core.session
        else {
            finish(at: place)
            return
        }
        if case .transport = place, !core.deliversInline {
            // A retrier is the user's code: not on the transport's thread.
            onFinishingQueue { self.retryOrFinish(attempt: attempt, at: $0) }
            return
        }
        let answered = AnswerOnce()
        retrier.retry(self, for: session, dueTo: error) { result in
            guard answered.claim() else { return }
            switch result {
            case .retry: self.retry(attempt: attempt, after: 0)
            case .retryWithDelay(let delay): self.retry(attempt: attempt, after: delay)
            case .doNotRetry: self.onFinishingQueue { self.finish(at: $0) }
            case .doNotRetryWithError(let retryError):
                let failed = SessionError.requestRetryFailed(
                    retryError: retryError, originalError: error)
                self.mutable.withLock { mutable in
                    if mutable.machine.isCurrent(attempt, in: .evaluating) {
                        mutable.error = failed
                    }
                }
                self.onFinishingQueue { self.finish(at: $0) }
            }
        }
    }

    /// Forgets the attempt and begins the next, after so many seconds.
    private func retry(attempt: Int, after delay: Double) {
        let isMine = mutable.withLock { mutable in
            guard mutable.machine.willRetry(attempt: attempt) else { return false }
            reset(&mutable)
            return true
        }
        guard isMine else { return }
        core.monitors?.requestIsRetrying(self)
        let begin: @Sendable () -> Void = {
            self.perform(self.mutable.withLock { $0.machine.retryNow(attempt: attempt) })
        }
        if delay > 0 {
            core.rootQueue.asyncAfter(deadline: .now() + delay, execute: begin)
        } else {
            core.rootQueue.async(execute: begin)
        }
    }

    // MARK: Serialize and deliver

    private func finish(at place: FinishingPlace) {
        if mutable.withLock({ $0.machine.beginFinishing() }) { serializeNext(at: place) }
    }

    /// Runs the handlers that have not run, one after the other, then delivers all values.
    func serializeNext(at place: FinishingPlace) {
        while let handler = nextHandler() {
            let serialized = handler.serialize(self)
            guard let failure = serialized.failure, !isCancelled,
                let retrier = core.retriers(for: interceptor), let session = core.session
            else {
                append(Delivery(handler: handler, serialized: serialized))
                continue
            }
            let attempt = mutable.withLock { $0.machine.attempt }
            let answered = AnswerOnce()
            retrier.retry(self, for: session, dueTo: failure) { result in
                guard answered.claim() else { return }
                switch result {
                case .retry: self.retry(attempt: attempt, after: 0)
                case .retryWithDelay(let delay): self.retry(attempt: attempt, after: delay)
                case .doNotRetry:
                    self.append(Delivery(handler: handler, serialized: serialized))
                    self.onFinishingQueue { self.serializeNext(at: $0) }
                case .doNotRetryWithError(let retryError):
                    self.append(
                        Delivery(
                            handler: handler, serialized: serialized,
                            replacement: .requestRetryFailed(
                                retryError: retryError, originalError: failure)))
                    self.onFinishingQueue { self.serializeNext(at: $0) }
                }
            }
            return
        }
        deliverAll(at: place)
    }

    private func nextHandler() -> ResponseHandler? {
        mutable.withLock { mutable in
            guard mutable.machine.phase == .finishing,
                let handler = mutable.responseHandlers[mutable.nextHandler]
            else { return nil }
            mutable.nextHandler += 1
            return handler
        }
    }

    private func append(_ delivery: Delivery) {
        mutable.withLock { $0.deliveries.append(delivery) }
    }

    /// What is left to do once no handler is found.
    private enum Rest {
        /// A handler was added since the last look.
        case serialize
        case deliver(InlineFirst<Delivery>)
        /// The request is being tried again.
        case nothing
    }

    private func deliverAll(at place: FinishingPlace) {
        let rest = mutable.withLock { mutable -> Rest in
            guard mutable.machine.phase == .finishing else { return .nothing }
            guard mutable.responseHandlers[mutable.nextHandler] == nil else { return .serialize }
            defer { mutable.deliveries = InlineFirst() }
            mutable.machine.didFinish()
            return .deliver(mutable.deliveries)
        }
        switch rest {
        case .nothing: return
        case .serialize: serializeNext(at: place)
        case .deliver(let deliveries):
            core.unregister(self)
            core.monitors?.requestDidFinish(self)
            deliveries.forEach { deliver($0, from: place) }
        }
    }

    private func deliver(_ delivery: Delivery, from place: FinishingPlace) {
        guard case .queue(let wanted) = delivery.destination else {
            delivery.deliver()
            return
        }
        switch place {
        case .transport where wanted == nil && core.deliversInline: delivery.deliver()
        case .queue(let current) where current === (wanted ?? core.callbackQueue):
            delivery.deliver()
        default: (wanted ?? core.callbackQueue).async { delivery.deliver() }
        }
    }

    // MARK: Handlers

    /// Adds a handler: it starts the request, or runs at once on one that is over.
    func append(_ handler: ResponseHandler) {
        let (isOver, starts) = mutable.withLock { mutable in
            mutable.responseHandlers.append(handler)
            let isOver = mutable.machine.reopen()
            let state = mutable.machine.state
            return (isOver, !isOver && (state == .initialized || state == .suspended))
        }
        if isOver {
            onFinishingQueue { self.serializeNext(at: $0) }
        } else if starts, shouldAutomaticallyResume ?? core.startsImmediately {
            resume()
        }
    }
}

extension Delivery {
    fileprivate init(
        handler: ResponseHandler, serialized: ResponseHandler.Serialized,
        replacement: SessionError? = nil
    ) {
        self.init(
            destination: handler.destination, replacement: replacement, serialized: serialized)
    }
}

/// The evaluation of one attempt, put off to the end of a turn.
private final class Evaluation: TurnWork {
    let request: Request
    let task: any TransferTask
    let attempt: Int
    let queue: DispatchQueue

    init(request: Request, task: any TransferTask, attempt: Int, queue: DispatchQueue) {
        self.request = request
        self.task = task
        self.attempt = attempt
        self.queue = queue
    }

    func perform() { request.evaluate(task, attempt: attempt, at: .queue(queue)) }
}

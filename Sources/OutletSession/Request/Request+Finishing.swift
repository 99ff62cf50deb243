import Dispatch
import OutletHTTP

/// From a transfer's end to the user's completions: redirect, validate, retry, serialize, deliver.
extension Request: TransferHandler {
    /// Follows a redirect, or takes the result to the validators.
    public func transferDidFinish(
        _ task: any TransferTask, result: TransferResult, turn: TransportTurn
    ) {
        if result.error?.code == .unsupportedURL {
            announce(task)
            if readFile() { return }
        }
        if let response = result.response, let next = nextHop(after: result) {
            let attempt = mutable.withLock { $0.machine.attempt }
            let hop = Hop(task: task, response: response, result: result, attempt: attempt)
            announce(task)
            tellExchange(result, of: task)
            return proceed(to: next, after: hop)
        }
        if let head = result.tunnelRefusal?.head {
            tellChallenges(of: head, to: task)
            if authenticateProxy(task, head, result) { return }
        }
        if result.error == nil, let response = result.response {
            if authenticate(task, response, result) { return }
            if response.isRedirect, redirect(task, response, result) { return }
        }
        conclude(task, result, turn: turn)
    }

    /// Takes a result as the attempt's last; outside a transport's turn without one.
    func conclude(_ task: any TransferTask, _ result: TransferResult, turn: TransportTurn?) {
        var calls: LaterCalls = []
        let monitors = monitors
        let evaluation = mutable.withLock { mutable -> Evaluation? in
            let attempt = mutable.machine.attempt
            guard mutable.machine.beginEvaluating(attempt: attempt) else { return nil }
            calls = keep(task, &mutable, monitors)
            if let observers = mutable.observers {
                calls += observers.finish(result.metrics, core)
            }
            mutable.response = result.response
            if let trailers = result.trailers { mutable.watched().trailers = trailers }
            mutable.add(result.metrics)
            if mutable.error == nil, let error = result.error {
                mutable.error = .sessionTaskFailed(error: error)
            }
            take(result, &mutable)
            let effort = validation(&mutable)
            return Evaluation(
                attempt: attempt, validates: effort != .none,
                queue: finishingQueue(
                    &mutable, inTransport: turn != nil,
                    isQuick: effort != .slow && monitors == nil))
        }
        guard let evaluation else { return }
        for call in calls { call() }
        if monitors != nil {
            tellEnd(result, of: task)
            tellExchange(result, of: task)
        }
        guard let turn else {
            return onFinishingQueue { self.evaluate(task, evaluation, at: $0) }
        }
        guard let queue = evaluation.queue else {
            return evaluate(task, evaluation, at: .transport(turn))
        }
        turn.perform(
            PendingEvaluation(request: self, task: task, evaluation: evaluation, queue: queue),
            on: queue)
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
        let (isMine, wait) = mutable.withLock { mutable -> (Bool, (any PendingWait)?) in
            let isConsulting = mutable.machine.endConsulting()
            guard isConsulting || mutable.machine.beginFinishing() else { return (false, nil) }
            if mutable.error == nil { mutable.error = error }
            return (!isConsulting, isConsulting ? mutable.wait : nil)
        }
        wait?.callOff(error)
        if isMine { finishOnQueue() }
    }

    func finishOnQueue() {
        let (wait, flight) = mutable.withLock { mutable in
            defer { mutable.wait = nil }
            return (mutable.wait, mutable.flight)
        }
        wait?.callOff(error ?? .explicitlyCancelled)
        if let flight { leave(flight) }
        monitors?.requestDidFinish(self)
        onFinishingQueue { self.serializeNext(at: $0) }
    }

    // MARK: Where

    private func onFinishingQueue(_ body: @escaping @Sendable (FinishingPlace) -> Void) {
        let queue = mutable.withLock { mutable in
            finishingQueue(&mutable, inTransport: false, isQuick: false)
        }
        let place = queue ?? core.callbackQueue
        place.async { body(.queue(place)) }
    }

    /// The queue to finish on; `nil` for the transport's thread.
    ///
    /// One hop serves validation, serialization and the completion: it goes to where the first
    /// completion is wanted, unless the session has a queue for serialization.
    private func finishingQueue(
        _ mutable: inout Mutable, inTransport: Bool, isQuick: Bool
    ) -> DispatchQueue? {
        if core.deliversInline, inTransport { return nil }
        if let queue = core.explicitSerializationQueue ?? ownFinishingQueue { return queue }
        switch mutable.responseHandlers.first?.destination {
        case nil: return core.callbackQueue
        case .queue(let queue)?: return queue ?? core.callbackQueue
        case .anywhere?:
            let isQuick =
                isQuick && inTransport && core.serializationIsQuick
                && mutable.responseHandlers.allSatisfy { handler in
                    guard case .anywhere = handler.destination else { return false }
                    return handler.isQuick
                }
            return isQuick ? nil : core.serializationQueue
        }
    }

    // MARK: Validate and retry

    fileprivate func evaluate(
        _ task: any TransferTask, _ evaluation: Evaluation, at place: FinishingPlace
    ) {
        didTransfer(task)
        let monitors = monitors
        if monitors != nil { tellUntoldEnd(of: task) }
        if evaluation.validates { runValidators() }
        if let monitors { monitors.request(self, didCompleteTask: task, with: error) }
        retryOrFinish(attempt: evaluation.attempt, at: place)
    }

    private func retryOrFinish(attempt: Int, at place: FinishingPlace) {
        var step = FinishingStep()
        var isMine = false
        let question = mutable.withLock { mutable -> Question? in
            // The retriers were asked about a shared result already, by the request that brought it.
            guard let error = mutable.error, mutable.machine.state != .cancelled,
                !mutable.sharesResult
            else {
                isMine = mutable.beginFinishing(&step)
                return nil
            }
            return Question(error: error, interceptor: mutable.interceptor)
        }
        guard let question else {
            if isMine { finish(&step, at: place) }
            return
        }
        guard let session = core.session,
            case let retriers = core.retriers(for: question.interceptor), !retriers.isEmpty
        else { return finish(at: place) }
        consult {
            self.ask(
                retriers[...], of: session, about: question.error, attempt: attempt, in: .evaluating
            ) {
                switch $0 {
                case .retry(let delay): self.retry(attempt: attempt, after: delay)
                case .leave: self.onFinishingQueue { self.finish(at: $0) }
                case .fail(let failed):
                    self.mutable.withLock { mutable in
                        if mutable.machine.isCurrent(attempt, in: .evaluating) {
                            mutable.error = failed
                        }
                    }
                    self.onFinishingQueue { self.finish(at: $0) }
                }
            }
        }
    }

    /// Runs what asks the retriers on the root queue, one after the other.
    ///
    /// The next attempt is made there too, so that a retrier which notes its answer after giving it
    /// has noted it before its own adapter is asked.
    private func consult(_ question: @escaping @Sendable () -> Void) {
        if core.deliversInline { question() } else { core.rootQueue.async(execute: question) }
    }

    /// Forgets the attempt and begins the next, after so many seconds.
    private func retry(attempt: Int, after delay: Double) {
        let pause = Wait<Void>(core.deadlines) {
            self.core.rootQueue.async {
                let monitors = self.monitors
                let action = self.mutable.withLock { mutable in
                    let action = mutable.machine.retryNow(attempt: attempt)
                    if action != .nothing { monitors?.requestIsRetrying(self) }
                    return action
                }
                self.perform(action)
            }
        }
        let isMine = mutable.withLock { mutable in
            guard mutable.machine.willRetry(attempt: attempt) else { return false }
            reset(&mutable)
            mutable.wait = pause
            return true
        }
        guard isMine else { return }
        if delay > 0 {
            pause.begin(for: delay) {}
        } else {
            pause.answer(())
        }
    }

    // MARK: Serialize and deliver

    /// What retriers are asked about, and who of them is the request's own.
    private struct Question {
        let error: SessionError
        let interceptor: (any RequestInterceptor)?
    }

    private func finish(at place: FinishingPlace) {
        var step = FinishingStep()
        if mutable.withLock({ $0.beginFinishing(&step) }) { finish(&step, at: place) }
    }

    /// Tells that an attempt was the last, and sees to the handlers.
    ///
    /// The end is told before anything is serialized: a handler that comes later adds none.
    private func finish(_ step: inout FinishingStep, at place: FinishingPlace) {
        if let flight = step.flight { leave(flight) }
        monitors?.requestDidFinish(self)
        if step.handler == nil { mutable.withLock { $0.advance(&step) } }
        go(on: &step, at: place)
    }

    /// Runs the handlers that have not run, one after the other, then delivers all values.
    func serializeNext(at place: FinishingPlace) {
        var step = FinishingStep()
        mutable.withLock { $0.advance(&step) }
        go(on: &step, at: place)
    }

    private func go(on step: inout FinishingStep, at place: FinishingPlace) {
        while let handler = step.handler, let facts = step.facts {
            let serialized = handler.serialize(self, facts)
            if let failure = serialized.failure, hasInterceptors, !isCancelled,
                let session = core.session,
                case let retriers = core.retriers(for: interceptor), !retriers.isEmpty
            {
                let attempt = mutable.withLock { mutable in
                    mutable.machine.beginConsulting()
                    return mutable.machine.attempt
                }
                return consult {
                    self.ask(
                        retriers[...], of: session, about: failure, attempt: attempt,
                        in: .finishing
                    ) { self.conclude(handler, serialized, $0, attempt: attempt) }
                }
            }
            mutable.withLock { mutable in
                mutable.deliveries.append(
                    Delivery(destination: handler.destination, serialized: serialized))
                mutable.advance(&step)
            }
        }
        guard step.isLast else { return }
        if step.observers?.tellsCURL == true { tellCURL() }
        core.unregister(self)
        cleanUp()
        for end in step.observers?.endStreams ?? [] { end() }
        step.deliveries.forEach { deliver($0, from: place) }
    }

    /// Goes on after the retriers' word about a serializer's failure.
    private func conclude(
        _ handler: ResponseHandler, _ serialized: ResponseHandler.Serialized,
        _ verdict: RetryVerdict, attempt: Int
    ) {
        // A cancel may have come between the answer and this: it alone counts.
        let isWanted = mutable.withLock { $0.machine.endConsulting() }
        switch isWanted ? verdict : .fail(error ?? .explicitlyCancelled) {
        case .retry(let delay): retry(attempt: attempt, after: delay)
        case .leave:
            append(Delivery(destination: handler.destination, serialized: serialized))
            onFinishingQueue { self.serializeNext(at: $0) }
        case .fail(let error):
            append(
                Delivery(
                    destination: handler.destination, replacement: error, serialized: serialized))
            onFinishingQueue { self.serializeNext(at: $0) }
        }
    }

    private func append(_ delivery: Delivery) {
        mutable.withLock { $0.deliveries.append(delivery) }
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
        let monitors = monitors
        let starts = shouldAutomaticallyResume ?? core.startsImmediately
        let (isOver, decision) = mutable.withLock { mutable in
            mutable.responseHandlers.append(handler)
            let isOver = mutable.machine.reopen()
            let decision = starts && !isOver ? resume(&mutable, monitors) : nil
            return (isOver, decision)
        }
        if isOver {
            onFinishingQueue { self.serializeNext(at: $0) }
        } else if let decision {
            carryOut(decision)
        }
    }
}

/// How an attempt that is over is judged.
private struct Evaluation: Sendable {
    let attempt: Int
    let validates: Bool
    /// Where; `nil` for the transport's thread.
    let queue: DispatchQueue?
}

/// The evaluation of one attempt, put off to the end of a turn.
private final class PendingEvaluation: TurnWork {
    let request: Request
    let task: any TransferTask
    let evaluation: Evaluation
    let queue: DispatchQueue

    init(
        request: Request, task: any TransferTask, evaluation: Evaluation, queue: DispatchQueue
    ) {
        self.request = request
        self.task = task
        self.evaluation = evaluation
        self.queue = queue
    }

    func perform() { request.evaluate(task, evaluation, at: .queue(queue)) }
}

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
        if result.error == nil, let response = result.response {
            if authenticate(task, response, result) { return }
            if response.isRedirect, redirect(task, response, result) { return }
        }
        conclude(task, result, turn: turn)
    }

    /// Takes a result as the attempt's last; outside a transport's turn without one.
    func conclude(_ task: any TransferTask, _ result: TransferResult, turn: TransportTurn?) {
        var calls: RequestObservers.Calls?
        var channel: RequestObservers.Channel<any TransferTask>?
        let monitors = monitors
        var metrics = result.metrics
        let attempt = mutable.withLock { mutable -> Int? in
            let attempt = mutable.machine.attempt
            guard mutable.machine.beginEvaluating(attempt: attempt) else { return nil }
            channel = keep(task, &mutable, monitors)
            calls = mutable.observers?.finish(result.metrics)
            mutable.response = result.response
            if let trailers = result.trailers { mutable.watched().trailers = trailers }
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
        if let channel { core.tell(channel, task) }
        calls?.perform(core)
        tellEnd(result, metrics: metrics, of: task)
        tellExchange(result, of: task)
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
        let queue = finishingQueue(inTransport: false) ?? core.callbackQueue
        queue.async { body(.queue(queue)) }
    }

    /// The queue to finish on; `nil` for the transport's thread.
    ///
    /// One hop serves validation, serialization and the completion: it goes to where the first
    /// completion is wanted, unless the session has a queue for serialization.
    private func finishingQueue(inTransport: Bool) -> DispatchQueue? {
        let isWatched = monitors != nil
        return mutable.withLock { mutable -> DispatchQueue? in
            if core.deliversInline, inTransport { return nil }
            if let queue = core.explicitSerializationQueue ?? ownFinishingQueue { return queue }
            guard let handler = mutable.responseHandlers.first else { return core.callbackQueue }
            guard case .anywhere = handler.destination else {
                if case .queue(let queue?) = handler.destination { return queue }
                return core.callbackQueue
            }
            let isQuick =
                inTransport && !isWatched && core.serializationIsQuick
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
        didTransfer(task)
        runValidators()
        if let monitors { monitors.request(self, didCompleteTask: task, with: error) }
        retryOrFinish(attempt: attempt, at: place)
    }

    private func retryOrFinish(attempt: Int, at place: FinishingPlace) {
        // The retriers were asked about a shared result already, by the request that brought it.
        guard let error, !isCancelled, !mutable.withLock({ $0.sharesResult }),
            let session = core.session,
            case let retriers = core.retriers(for: interceptor), !retriers.isEmpty
        else {
            finish(at: place)
            return
        }
        consult {
            self.ask(retriers[...], of: session, about: error, attempt: attempt, in: .evaluating) {
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

    /// Tells that an attempt was the last, and sees to the handlers.
    ///
    /// The end is told before anything is serialized: a handler that comes later adds none.
    private func finish(at place: FinishingPlace) {
        let (isMine, flight) = mutable.withLock { ($0.machine.beginFinishing(), $0.flight) }
        guard isMine else { return }
        if let flight { leave(flight) }
        monitors?.requestDidFinish(self)
        serializeNext(at: place)
    }

    /// Runs the handlers that have not run, one after the other, then delivers all values.
    func serializeNext(at place: FinishingPlace) {
        var former: Delivery?
        while let handler = nextHandler(after: former) {
            let serialized = handler.serialize(self)
            guard let failure = serialized.failure, !isCancelled, let session = core.session,
                case let retriers = core.retriers(for: interceptor), !retriers.isEmpty
            else {
                former = Delivery(handler: handler, serialized: serialized)
                continue
            }
            let attempt = mutable.withLock { mutable in
                mutable.machine.beginConsulting()
                return mutable.machine.attempt
            }
            consult {
                self.ask(
                    retriers[...], of: session, about: failure, attempt: attempt, in: .finishing
                ) { self.conclude(handler, serialized, $0, attempt: attempt) }
            }
            return
        }
        deliverAll(at: place)
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
            append(Delivery(handler: handler, serialized: serialized))
            onFinishingQueue { self.serializeNext(at: $0) }
        case .fail(let error):
            append(Delivery(handler: handler, serialized: serialized, replacement: error))
            onFinishingQueue { self.serializeNext(at: $0) }
        }
    }

    /// Keeps what the handler before has made, and finds the next that has not run.
    private func nextHandler(after former: Delivery?) -> ResponseHandler? {
        mutable.withLock { mutable in
            if let former { mutable.deliveries.append(former) }
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
        ///
        /// The handlers have run for good; what they hold, often the request itself, is let go of
        /// outside the lock.
        case deliver(
            InlineFirst<Delivery>, spent: InlineFirst<ResponseHandler>, tellsCURL: Bool,
            endStreams: [@Sendable () -> Void])
        /// The request is being tried again.
        case nothing
    }

    private func deliverAll(at place: FinishingPlace) {
        let rest = mutable.withLock { mutable -> Rest in
            guard mutable.machine.phase == .finishing else { return .nothing }
            guard mutable.responseHandlers[mutable.nextHandler] == nil else { return .serialize }
            defer {
                mutable.deliveries = InlineFirst()
                mutable.responseHandlers = InlineFirst()
                mutable.nextHandler = 0
            }
            mutable.machine.didFinish()
            return .deliver(
                mutable.deliveries, spent: mutable.responseHandlers,
                tellsCURL: mutable.observers?.curl != nil,
                endStreams: mutable.observers?.endStreams() ?? [])
        }
        switch rest {
        case .nothing: return
        case .serialize: serializeNext(at: place)
        case .deliver(let deliveries, _, let tellsCURL, let endStreams):
            if tellsCURL { tellCURL() }
            core.unregister(self)
            cleanUp()
            for end in endStreams { end() }
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

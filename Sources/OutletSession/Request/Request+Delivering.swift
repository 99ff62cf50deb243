import Dispatch
import OutletTransport

/// The end of a request after its last attempt: serializes the response, then delivers the values.
extension Request {
    func finish(at place: FinishingPlace) {
        var step = FinishingStep()
        let end = mutable.withLock { $0.endAttempts(&step) }
        conclude(end, &step, at: place)
    }

    /// Continues after the last attempt.
    func conclude(_ end: EndOfAttempts, _ step: inout FinishingStep, at place: FinishingPlace) {
        switch end {
        case .none: break
        case .finishing: finish(&step, at: place)
        case .judged(let attempt): judge(attempt: attempt, at: place)
        case .intercepted(let interception):
            if handOver(interception) { finishIntercepted(at: place) }
        }
    }

    /// Reports the end of the last attempt, and runs the handlers.
    ///
    /// Monitors get `didFinish` before serialization; handlers added later cause no further event.
    private func finish(_ step: inout FinishingStep, at place: FinishingPlace) {
        if core.hasOutcomeMiddleware { endJudging() }
        if core.hasMiddleware { endInterception() }
        if isMonitored { monitors?.observe(.didFinish, of: self) }
        if step.handler == nil { mutable.withLock { $0.advance(&step) } }
        go(on: &step, at: place)
    }

    /// Serializes for the handlers that have not run, one after the other, then delivers all
    /// values.
    func serializeNext(at place: FinishingPlace) {
        var step = FinishingStep()
        mutable.withLock { $0.advance(&step) }
        go(on: &step, at: place)
    }

    private func go(on step: inout FinishingStep, at place: FinishingPlace) {
        while let handler = step.handler.take(), let outcome = step.outcome.take() {
            guard !handler.mayBlock else { return serializeApart(handler, outcome, &step) }
            let serialized = handler.serialize(self, outcome)
            let delivery = Delivery(handler: consume handler, serialized: consume serialized)
            guard take(consume delivery, &step) else { return }
        }
        if step.waitsForProgress { return waitForProgress() }
        guard step.isLast else { return }
        if step.observers?.notifiesMade == true { notifyMade() }
        let isLast = core.unregister(self)
        cleanUp()
        if step.hasOverrides { releaseRedirectHandler() }
        if core.hasOutcomeMiddleware { endLifetime() }
        for end in step.observers?.endStreams ?? [] { end() }
        while let delivery = step.deliveries.popFirst() { deliver(delivery, from: place) }
        if let last = step.made.take() { deliver(last, from: place) }
        if isLast { endDraining(from: place) }
    }

    /// Serializes on a thread that no other request waits for, then continues.
    private func serializeApart(
        _ handler: ResponseHandler, _ outcome: AttemptOutcome, _ step: inout FinishingStep
    ) {
        if let made = step.made.take() { mutable.withLock { $0.handlers.keep(made) } }
        WorkerThreads.blocking.run {
            let delivery = Delivery(
                handler: handler, serialized: handler.serialize(self, outcome))
            self.onFinishingQueue { place in
                var step = FinishingStep()
                if self.take(delivery, &step) { self.go(on: &step, at: place) }
            }
        }
    }

    /// Keeps a value that was made, and finds the next handler.
    ///
    /// - Returns: `false` if the retriers decide first, because there is no value.
    private func take(_ delivery: consuming Delivery, _ step: inout FinishingStep) -> Bool {
        // Tested first, because the failure would be copied.
        if hasInterceptors, let failure = delivery.serialized.failure,
            consult(about: failure, instead: delivery)
        {
            return false
        }
        step.made = consume delivery
        mutable.withLock { $0.advance(&step) }
        return true
    }

    /// Calls the retriers about a serialization failure.
    ///
    /// - Returns: `false` if there are none, the request must not run again, or one of them has
    ///   ended it with this error, which the serializer passes on.
    private func consult(about failure: SessionError, instead delivery: Delivery) -> Bool {
        if failure.isRequestRetryError, error?.isRequestRetryError == true { return false }
        guard let (session, retriers) = lateRetriers else { return false }
        let attempt = mutable.withLock { mutable in
            mutable.handlers.keep(delivery)
            mutable.machine.beginConsulting()
            return mutable.machine.attempt
        }
        consult {
            self.ask(retriers[...], of: session, about: failure, attempt: attempt, in: .finishing) {
                self.conclude($0, attempt: attempt)
            }
        }
        return true
    }

    /// The retriers that are asked about a serialization failure; `nil` if there are none, or the
    /// request must not run again.
    private var lateRetriers: (session: Session, retriers: [any RequestRetrier])? {
        guard hasInterceptors, !isCancelled, let session = core.session,
            case let retriers = core.retriers(for: interceptor), !retriers.isEmpty,
            core.refusal(of: self) == nil, mayRunAgain
        else { return nil }
        return (session, retriers)
    }

    /// Releases the request's own redirect handler at its end, unless a response handler that is
    /// added later could make a retrier send the request again.
    private func releaseRedirectHandler() {
        guard redirectHandler != nil, lateRetriers == nil else { return }
        // What it captures, often the request itself, is released outside the lock.
        _ = mutable.withLock { mutable in
            defer { mutable.redirectHandler = nil }
            return mutable.redirectHandler
        }
    }

    /// Continues after the retriers' decision about a serialization failure.
    private func conclude(_ verdict: RetryVerdict, attempt: Int) {
        // After a cancel, the retriers' decision is ignored.
        let isWanted = mutable.withLock { $0.machine.endConsulting() }
        switch isWanted ? verdict : .fail(error ?? .explicitlyCancelled) {
        case .retry(let delay): retry(attempt: attempt, after: delay)
        case .leave: onFinishingQueue { self.serializeNext(at: $0) }
        case .fail(let error):
            mutable.withLock { $0.handlers.replaceLast(with: error) }
            onFinishingQueue { self.serializeNext(at: $0) }
        }
    }

    private func deliver(_ delivery: consuming Delivery, from place: FinishingPlace) {
        let wanted: DispatchQueue?
        switch delivery.handler.destination {
        case .queue(let queue): wanted = queue
        case .anywhere:
            guard let turn = place.turn else { return delivery.deliver() }
            return turn.resumeLater { [delivery] in delivery.deliver() }
        case .tasks(let promise):
            delivery.deliver()
            return promise.continueTasks(after: place.turn)
        }
        switch place {
        case .transport where wanted == nil && core.deliversInline: delivery.deliver()
        case .queue(let current) where current === (wanted ?? core.callbackQueue):
            delivery.deliver()
        default: (wanted ?? core.callbackQueue).async { [delivery] in delivery.deliver() }
        }
    }

    /// Ends the session's shutdown after the deliveries of ``deliver(_:from:)``.
    private func endDraining(from place: FinishingPlace) {
        guard let turn = place.turn else { return core.endDraining() }
        turn.resumeLater { [core] in core.endDraining() }
    }

    // MARK: Handlers

    /// Starts a request in state `initialized`, if requests start automatically.
    func startAutomatically() {
        guard shouldAutomaticallyResume ?? core.startsImmediately else { return }
        let decision = mutable.withLock { mutable in
            mutable.machine.state == .initialized ? resume(&mutable) : nil
        }
        if let decision { carryOut(decision) }
    }

    /// Adds a handler, which starts the request; if the request has finished, runs the handler at
    /// once.
    func append(_ handler: consuming ResponseHandler) {
        // Moved out under the lock: a copy would retain what the handler captures.
        var added = Optional(consume handler)
        let starts = shouldAutomaticallyResume ?? core.startsImmediately
        let (isOver, decision) = mutable.withLock { mutable in
            if let handler = added.take() { mutable.handlers.append(handler) }
            let isOver = mutable.machine.reopen()
            let decision = starts && !isOver ? resume(&mutable) : nil
            return (isOver, decision)
        }
        if isOver {
            onFinishingQueue { self.serializeNext(at: $0) }
        } else if let decision {
            carryOut(decision)
        } else if !starts {
            expectStart(retained: true)
        }
    }

    /// Ends a request that something waits for with its session, if it is never started.
    ///
    /// - Parameter retained: Whether the session retains the request until it starts or ends, because
    ///   a closure is to be called also if the program releases the request.
    func expectStart(retained: Bool = false) {
        // Under the lock: the session must not retain a request that starts or ends meanwhile.
        let noted = mutable.withLock { mutable in
            mutable.machine.phase == .idle ? core.expect(self, retains: retained) : nil
        }
        if let refusal = noted?.refusal { abandon(with: refusal) }
    }
}

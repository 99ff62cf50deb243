import OutletHTTP
import OutletTransport

/// The session's ``OutcomeMiddleware``: it sees the outcome of the attempts.
extension Request {
    /// Prepares a request before its attempts, and notes that their outcome is to be judged.
    ///
    /// - Returns: `false` if the request has ended while it was made.
    func expectJudgement(of initial: inout HTTPRequest, attempt: Int) -> Bool {
        describe(&initial)
        prepareJudgement(of: &initial)
        return mutable.withLock { mutable in
            guard mutable.machine.isCurrent(attempt, in: .settingUp) else { return false }
            noteJudgement(&mutable)
            return true
        }
    }

    /// Notes that the outcome of the attempts is to be judged, if the ``OutcomeMiddleware`` wants it.
    func noteJudgement(_ mutable: inout Mutable) {
        guard mutable.lifetime != nil || core.outcomeMiddleware?.judgesOutcomes == true else {
            return
        }
        mutable.machine.expectJudgement()
    }

    /// Passes a request to the ``OutcomeMiddleware`` before its attempts.
    func prepareJudgement(of request: inout HTTPRequest) {
        guard let middleware = core.outcomeMiddleware else { return }
        if middleware.needsOwnTransfers { request.context.needsOwnTransfer = true }
        let hasStream = if case .stream = request.body { true } else { makesBody }
        guard middleware.needsLifetime(hasStream: hasStream) else { return }
        let session = core.session
        let lifetime = mutable.withLock { mutable -> RequestLifetime? in
            // Nothing would end the lifetime of a request that is being finished.
            guard mutable.machine.phase < .finishing else { return nil }
            let lifetime = mutable.lifetime ?? RequestLifetime(of: session)
            mutable.lifetime = lifetime
            return lifetime
        }
        guard let lifetime else { return }
        middleware.begin(&request, of: lifetime)
    }

    /// Passes the outcome of the attempts to the ``OutcomeMiddleware``, and continues with its
    /// decision.
    func judge(attempt: Int, at place: FinishingPlace) {
        guard let middleware = core.outcomeMiddleware else { return finish(at: place) }
        let (outcome, begun) = mutable.withLock { ($0.attemptOutcome, $0.judgedRequest) }
        let result = callResult(of: outcome)
        let asked = begun ?? HTTPRequest(url: nil)
        switch middleware.end(result, of: asked, isCancelled: false) {
        case .unchanged:
            // A stream delivers the collected body now; other requests have theirs.
            let isCollected = core.collectsStreams && self is DataStreamRequest
            judged(isCollected ? result : nil, of: result, attempt: attempt, at: place)
        case .replaced(let replacement):
            judged(replacement, of: result, attempt: attempt, at: place)
        case .later(let pending):
            let abandon = pending.begin { decision in
                self.onFinishingQueue {
                    self.judged(decision, of: result, attempt: attempt, at: $0)
                }
            }
            let isOver = mutable.withLock { mutable in
                guard mutable.machine.isCurrent(attempt, in: .judging) else { return true }
                mutable.abandonOutcome = abandon
                return false
            }
            if isOver { abandon() }
        }
    }

    /// Continues after the decision of the ``OutcomeMiddleware``.
    ///
    /// - Parameters:
    ///   - result: The outcome to apply; `nil` for the one that the request has.
    ///   - attempts: The outcome of the attempts.
    ///   - attempt: The attempt.
    ///   - place: Where the request is being finished.
    private func judged(
        _ result: CallResult?, of attempts: CallResult, attempt: Int, at place: FinishingPlace
    ) {
        let isIntercepted = mutable.withLock { mutable -> Bool? in
            guard mutable.machine.isCurrent(attempt, in: .judging) else { return nil }
            mutable.abandonOutcome = nil
            if let result {
                apply(result, isUnchanged: result.isCopy(of: attempts), &mutable)
            }
            return mutable.interception != nil
        }
        guard let isIntercepted else { return }
        // Middleware around this one gets the outcome first.
        if isIntercepted { finish(at: place) } else { finishIntercepted(at: place) }
    }

    /// Passes the end of a request that ends before its outcome is judged, and abandons a pending
    /// decision.
    func endJudging() {
        let (abandon, asked, error) = mutable.withLock { mutable in
            (
                mutable.abandonOutcome.take(),
                // Without a request no attempt has begun, and no plugin has seen it.
                mutable.machine.skipJudging() ? mutable.judgedRequest : nil,
                mutable.attempt.error
            )
        }
        abandon?()
        guard let asked else { return }
        let decision = core.outcomeMiddleware?.end(
            .failure(error ?? SessionError.explicitlyCancelled), of: asked, isCancelled: true)
        if case .later(let pending) = decision { _ = pending.begin { _ in } }
    }

    /// Releases what middleware keeps for the request, after all handlers have run.
    func endLifetime() {
        mutable.withLock { $0.overrides?.lifetime.take() }?.end()
    }
}

extension Request.Mutable {
    /// The request that was passed to the attempts; `nil` if none has begun.
    fileprivate var judgedRequest: HTTPRequest? {
        interception?.request ?? history.firstRequest
    }
}

import OutletHTTP

/// The next step of a finished request, decided under its lock and performed after unlocking.
///
/// Filled in place, because copying it would cost every request more than the decision.
struct FinishingStep {
    /// The handler to serialize for, with the outcome to serialize; `nil` if there is none.
    var handler: ResponseHandler?
    var outcome: AttemptOutcome?
    /// The value made last, which the request does not store yet.
    var made: Delivery?
    /// Whether all values were made, but delivery waits for progress closures.
    var waitsForProgress = false
    /// Whether all values were made and are to be delivered: first ``deliveries``, then ``made``.
    var isLast = false
    /// Whether the request has settings of its own, if ``isLast``.
    var hasOverrides = false
    /// With the handlers, whose captures, often the request itself, are released outside the lock.
    var deliveries = InlineFirst<Delivery>()
    var observers: EndOfObservers?
}

/// What to do after the last attempt.
enum EndOfAttempts {
    /// Nothing: the request is being finished elsewhere.
    case none
    /// Serialize for the handlers, and deliver the values.
    case finishing
    /// Pass the outcome of the attempts to the session's ``OutcomeMiddleware``.
    case judged(attempt: Int)
    /// Pass the result of the attempts to the session's middleware.
    case intercepted(Interception)
}

/// What to do for the observers when a request ends.
struct EndOfObservers {
    let notifiesMade: Bool
    let endStreams: [@Sendable () -> Void]
    /// Released with this value, outside the lock.
    let closures: RequestObservers.Closures
}

/// The cost of validating a response.
enum ValidationCost {
    /// There are no validators.
    case none
    /// All validators belong to this library: no user code is called.
    case quick
    /// User code is called, which may take long.
    case slow
}

extension Request.Mutable {
    /// The outcome of the last attempt.
    var attemptOutcome: AttemptOutcome {
        mutating get { attempt.outcome(of: history.lastRequest) }
    }

    /// The cost of the validators of a data request.
    var dataValidation: ValidationCost {
        guard !dataValidators.isEmpty else { return .none }
        return dataValidators.allSatisfy(\.isQuick) ? .quick : .slow
    }

    /// Ends the attempts: passes the result to the session's middleware, or finds the first
    /// handler.
    mutating func endAttempts(_ step: inout FinishingStep) -> EndOfAttempts {
        if machine.beginJudging() { return .judged(attempt: machine.attempt) }
        if let interception, machine.endAttempts() {
            interception.beginHandingOver()
            return .intercepted(interception)
        }
        guard machine.beginFinishing() else { return .none }
        // Without handlers, `didFinish` is reported before `advance` is called.
        if !handlers.waiting.isEmpty { advance(&step) }
        return .finishing
    }

    /// Finds the next handler that has not run; if there is none, the values are delivered.
    mutating func advance(_ step: inout FinishingStep) {
        step.handler = nil
        guard machine.phase == .finishing else { return keep(&step) }
        if let handler = handlers.next() {
            keep(&step)
            step.handler = handler
            step.outcome = attemptOutcome
            return
        }
        if machine.state == .cancelled { observers?.progressOrder.dropQueued() }
        if observers?.progressOrder.holdsCompletions == true {
            step.waitsForProgress = true
            return keep(&step)
        }
        machine.didFinish()
        step.isLast = true
        step.hasOverrides = overrides != nil
        handlers.drain(&step.deliveries)
        if let observers {
            step.observers = EndOfObservers(
                notifiesMade: observers.made != nil, endStreams: observers.endStreams(),
                closures: observers.takeClosures())
        }
    }

    private mutating func keep(_ step: inout FinishingStep) {
        if let made = step.made.take() { handlers.keep(made) }
    }
}

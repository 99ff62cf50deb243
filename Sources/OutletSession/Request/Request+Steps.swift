import OutletHTTP

/// What a finished request has to do next, decided under its lock and done without it.
///
/// Filled in place: on every request's way, copies of it would cost more than the deciding.
struct FinishingStep {
    /// The handler whose value is to be made, and of what; without one there is nothing to be made.
    var handler: ResponseHandler?
    var facts: AttemptOutcome?
    /// The value that was made last, and is not yet among those of the request.
    var made: Delivery?
    /// All values were made, but progress has still to be told before they are handed over.
    var waitsForProgress = false
    /// All values were made, and are to be handed over: first ``deliveries``, then ``made``.
    var isLast = false
    var deliveries = InlineFirst<Delivery>()
    /// The handlers that have run for good; what they hold, often the request itself, is let go of
    /// outside the lock.
    var spent = InlineFirst<ResponseHandler>()
    var observers: EndOfObservers?
}

/// What follows when an attempt was the last.
enum EndOfAttempts {
    /// Nothing: somebody else sees to the end.
    case none
    /// The handlers' values are made and delivered.
    case finishing
    /// Gives the session's middleware the result of the attempts.
    case intercepted(Interception)
}

/// What those who watch a request are told at its end.
struct EndOfObservers {
    let tellsMade: Bool
    let endStreams: [@Sendable () -> Void]
    /// Let go of with this.
    let closures: RequestObservers.Closures
}

/// What it takes to judge a response.
enum ValidationEffort {
    /// Nobody judges it.
    case none
    /// No code of the user's runs.
    case quick
    /// It may take long.
    case slow
}

extension Request.Mutable {
    /// What it takes to judge a response that is collected.
    var dataValidation: ValidationEffort {
        guard !dataValidators.isEmpty else { return .none }
        return dataValidators.allSatisfy(\.isQuick) ? .quick : .slow
    }

    /// Takes an attempt for the last: the session's middleware is told of it, or the first handler found.
    mutating func endAttempts(_ step: inout FinishingStep) -> EndOfAttempts {
        if let interception, machine.endAttempts() {
            interception.beginHandingOver()
            return .intercepted(interception)
        }
        guard machine.beginFinishing() else { return .none }
        // Without handlers the end is told before it is looked for them again.
        if !handlers.handlers.isEmpty { advance(&step) }
        return .finishing
    }

    /// Finds the next handler that has not run; without one the values are delivered.
    mutating func advance(_ step: inout FinishingStep) {
        step.handler = nil
        guard machine.phase == .finishing else { return keep(&step) }
        if let handler = handlers.next() {
            keep(&step)
            step.handler = handler
            step.facts = facts
            return
        }
        if machine.state == .cancelled { observers?.progressOrder.dropQueued() }
        if observers?.progressOrder.holdsCompletions == true {
            step.waitsForProgress = true
            return keep(&step)
        }
        machine.didFinish()
        step.isLast = true
        handlers.drain(&step.deliveries, &step.spent)
        if let observers {
            step.observers = EndOfObservers(
                tellsMade: observers.made != nil, endStreams: observers.endStreams(),
                closures: observers.takeClosures())
        }
    }

    private mutating func keep(_ step: inout FinishingStep) {
        if let made = step.made.take() { handlers.keep(made) }
    }
}

/// The state of one hook's answer as a value: settled once, by the plugin or by the host in its
/// place.
struct CompletionMachine<Answer: Sendable>: Sendable {
    enum State {
        /// The hook has not been called; the plugin does not know the completion.
        case queued
        /// The hook is about to be called, unless it is too late for it.
        case starting
        /// The hook is running.
        case inHook
        /// The hook is running and has settled its completion.
        case answeredInHook(Answer)
        /// The hook returned `OUTLET_PENDING`.
        case waiting
        /// Answered. Final.
        case settled
        /// The host answered in the plugin's place; one late answer is no violation, after which
        /// the state is `settled`.
        case cancelled
        /// The host answered in the plugin's place after the hook had settled, and the hook has not
        /// returned yet. Its handles are valid until then; no answer follows.
        case overruled
        /// The host answered before the hook was called, which now never happens. Final.
        case withdrawn
    }

    /// What the caller must do once the lock is released.
    enum Action {
        case nothing
        /// Deliver the answer; happens at most once.
        case deliver(Answer)
        /// Deliver the answer of a hook that failed after it had settled its completion with another
        /// one, which is a violation.
        case deliverFailure(Answer, after: Answer)
        /// Deliver the answer in the plugin's place, and call the plugin's `cancel` where it knows
        /// of the completion; the hook may have settled that with an answer of its own.
        case giveUp(Answer, after: Answer?, notifiesPlugin: Bool)
        /// Refuse the plugin's answer: too late, or a second one.
        case refuse(isBreach: Bool)
    }

    private(set) var state = State.queued

    /// Whether the hook has not been called yet.
    var isQueued: Bool {
        if case .queued = state { true } else { false }
    }

    /// Whether the hook has returned `OUTLET_PENDING` and not answered yet.
    var isWaiting: Bool {
        if case .waiting = state { true } else { false }
    }

    var isOver: Bool {
        switch state {
        case .settled, .cancelled, .overruled, .withdrawn: true
        case .queued, .starting, .inHook, .answeredInHook, .waiting: false
        }
    }

    /// Whether the host has answered in the plugin's place, after the hook had begun, and the hook
    /// has not returned, or the plugin may still answer.
    var isGivenUp: Bool {
        switch state {
        case .cancelled, .overruled: true
        case .queued, .starting, .inHook, .answeredInHook, .waiting, .settled, .withdrawn: false
        }
    }

    /// Whether the plugin has begun and may still answer, also late.
    var isOpen: Bool {
        switch state {
        case .inHook, .waiting, .cancelled: true
        case .queued, .starting, .answeredInHook, .settled, .overruled, .withdrawn: false
        }
    }

    /// Begins the hook; ``call()`` follows, or ``hookReturned(_:isFailure:)`` if it is too late.
    ///
    /// - Returns: `false` where the hook must not be called any more.
    mutating func begin() -> Bool {
        guard case .queued = state else { return false }
        state = .starting
        return true
    }

    /// Records that the hook is called now.
    ///
    /// - Returns: `false` where the hook must not be called any more.
    mutating func call() -> Bool {
        guard case .starting = state else { return false }
        state = .inHook
        return true
    }

    /// Settles the completion with the plugin's answer.
    mutating func settle(_ answer: Answer) -> Action {
        switch state {
        case .inHook:
            // Kept until the hook has returned: what follows may call the same plugin.
            state = .answeredInHook(answer)
            return .nothing
        case .waiting:
            state = .settled
            return .deliver(answer)
        case .queued, .starting, .answeredInHook, .settled, .overruled, .withdrawn:
            return .refuse(isBreach: true)
        case .cancelled:
            state = .settled
            return .refuse(isBreach: false)
        }
    }

    /// Handles the return of the hook, or that it is too late to call it.
    ///
    /// - Parameters:
    ///   - answer: The answer if nothing was settled; `nil` when the hook returned
    ///     `OUTLET_PENDING`.
    ///   - isFailure: Whether the hook failed, which overrides what it settled.
    mutating func hookReturned(_ answer: Answer?, isFailure: Bool = false) -> Action {
        switch state {
        case .starting, .inHook:
            guard let answer else {
                state = .waiting
                return .nothing
            }
            state = .settled
            return .deliver(answer)
        case .answeredInHook(let settled):
            state = .settled
            if isFailure, let answer { return .deliverFailure(answer, after: settled) }
            return .deliver(settled)
        case .cancelled:
            // A hook that returned `OUTLET_PENDING` may still settle once.
            guard answer != nil else { return .nothing }
            state = .settled
            return .refuse(isBreach: false)
        case .overruled:
            state = .settled
            return .refuse(isBreach: false)
        case .queued, .waiting, .settled, .withdrawn:
            return .nothing
        }
    }

    /// Answers in the plugin's place; the host no longer waits for the plugin.
    mutating func cancel(_ answer: Answer) -> Action {
        switch state {
        case .queued, .starting:
            state = .withdrawn
            return .giveUp(answer, after: nil, notifiesPlugin: false)
        case .inHook, .waiting:
            state = .cancelled
            return .giveUp(answer, after: nil, notifiesPlugin: true)
        case .answeredInHook(let settled):
            state = .overruled
            return .giveUp(answer, after: settled, notifiesPlugin: true)
        case .settled, .cancelled, .overruled, .withdrawn:
            return .nothing
        }
    }
}

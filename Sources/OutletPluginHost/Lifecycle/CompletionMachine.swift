/// The life of one promised answer as a value: settled once, by the plugin or in its place.
struct CompletionMachine<Answer: Sendable>: Sendable {
    enum State {
        /// The hook waits for its turn; the plugin knows of nothing.
        case queued
        /// The hook is on the stack.
        case inHook
        /// The hook is on the stack and has been given its answer.
        case answeredInHook(Answer)
        /// The hook returned and promised an answer.
        case waiting
        /// Answered. Final.
        case settled
        /// Given up by the host; one late answer is no breach. Final.
        case cancelled
        /// Given up by the host before the hook was called: it is not called any more. Final.
        case withdrawn
    }

    /// What the caller must do once the lock is released.
    enum Action {
        case nothing
        /// Hand over the answer: the first and only time.
        case deliver(Answer)
        /// The same, of a hook that settled its completion and then failed.
        case deliverFailure(Answer)
        /// Hand over the answer in the plugin's place, and tell the plugin, unless it knows nothing.
        case giveUp(Answer, tellsPlugin: Bool)
        /// The plugin answered too late, or twice.
        case refuse(isBreach: Bool)
    }

    private(set) var state = State.queued

    /// Whether the hook has returned and promised an answer.
    var isWaiting: Bool {
        if case .waiting = state { true } else { false }
    }

    var isOver: Bool {
        switch state {
        case .settled, .cancelled, .withdrawn: true
        case .queued, .inHook, .answeredInHook, .waiting: false
        }
    }

    /// Whether the hook is to be called, now.
    mutating func begin() -> Bool {
        guard case .queued = state else { return false }
        state = .inHook
        return true
    }

    /// The plugin answers.
    mutating func settle(_ answer: Answer) -> Action {
        switch state {
        case .inHook:
            // Kept until the hook is off the stack: what follows may call the same plugin.
            state = .answeredInHook(answer)
            return .nothing
        case .waiting:
            state = .settled
            return .deliver(answer)
        case .queued, .answeredInHook, .settled, .withdrawn:
            return .refuse(isBreach: true)
        case .cancelled:
            return .refuse(isBreach: false)
        }
    }

    /// The hook returned.
    ///
    /// - Parameters:
    ///   - answer: What that means if nothing was settled; `nil` when it promised more.
    ///   - isFailure: Whether the hook failed, which goes before what it settled.
    mutating func hookReturned(_ answer: Answer?, isFailure: Bool = false) -> Action {
        switch state {
        case .inHook:
            guard let answer else {
                state = .waiting
                return .nothing
            }
            state = .settled
            return .deliver(answer)
        case .answeredInHook(let settled):
            state = .settled
            if isFailure, let answer { return .deliverFailure(answer) }
            return .deliver(settled)
        case .cancelled:
            // One that promised an answer may still give it.
            return answer == nil ? .nothing : .refuse(isBreach: false)
        case .queued, .waiting, .settled, .withdrawn:
            return .nothing
        }
    }

    /// The host gives up and answers in the plugin's place.
    mutating func cancel(_ answer: Answer) -> Action {
        switch state {
        case .queued:
            state = .withdrawn
            return .giveUp(answer, tellsPlugin: false)
        case .inHook, .answeredInHook, .waiting:
            state = .cancelled
            return .giveUp(answer, tellsPlugin: true)
        case .settled, .cancelled, .withdrawn:
            return .nothing
        }
    }
}

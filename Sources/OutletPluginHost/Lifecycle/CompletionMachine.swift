/// The life of one promised answer as a value: settled once, by the plugin or in its place.
struct CompletionMachine<Answer: Sendable>: Sendable {
    enum State {
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
    }

    /// What the caller must do once the lock is released.
    enum Action {
        case nothing
        /// Hand over the answer: the first and only time.
        case deliver(Answer)
        /// The plugin answered too late, or twice.
        case refuse(isBreach: Bool)
    }

    private(set) var state = State.inHook

    var isOver: Bool {
        switch state {
        case .settled, .cancelled: true
        case .inHook, .answeredInHook, .waiting: false
        }
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
        case .answeredInHook, .settled:
            return .refuse(isBreach: true)
        case .cancelled:
            return .refuse(isBreach: false)
        }
    }

    /// The hook returned.
    ///
    /// - Parameter answer: What that means if nothing was settled; `nil` when it promised more.
    mutating func hookReturned(_ answer: Answer?) -> Action {
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
            return .deliver(settled)
        case .waiting, .settled, .cancelled:
            return .nothing
        }
    }

    /// The host gives up and answers in the plugin's place.
    mutating func cancel(_ answer: Answer) -> Action {
        switch state {
        case .inHook, .answeredInHook, .waiting:
            state = .cancelled
            return .deliver(answer)
        case .settled, .cancelled:
            return .nothing
        }
    }
}

import OutletTransport

/// A wait for one answer, which can time out or be cancelled.
///
/// The first of ``answer(_:)``, the deadline and ``cancel(_:)`` ends the wait; the others have no
/// effect.
final class Wait<Answer: Sendable>: PendingWait {
    private struct State: Sendable {
        var completion: (@Sendable (Answer) -> Void)?
        var token: Deadlines.Token?
        /// Cancels the work that would have produced the answer.
        var abandon: (@Sendable () -> Void)?
        /// Whether the wait ended without an answer.
        var isAbandoned = false
    }

    private let deadlines: Deadlines
    private let cancelledAnswer: (@Sendable (SessionError) -> Answer)?
    private let state: Lock<State>

    /// Makes a wait; ``begin(for:otherwise:)`` starts its time limit.
    ///
    /// - Parameters:
    ///   - deadlines: Runs the time limit.
    ///   - cancelledAnswer: Makes the answer when the wait is cancelled; if `nil`, `completion` is
    ///     not called then.
    ///   - completion: Called with the answer, at most once, on the thread that ends the wait.
    init(
        _ deadlines: Deadlines, cancelledAnswer: (@Sendable (SessionError) -> Answer)? = nil,
        completion: @escaping @Sendable (Answer) -> Void
    ) {
        self.deadlines = deadlines
        self.cancelledAnswer = cancelledAnswer
        state = Lock(State(completion: completion))
    }

    /// Starts the time limit, which ends the wait with a default answer.
    ///
    /// - Parameters:
    ///   - seconds: The time limit in seconds; 0 or less means no limit.
    ///   - answer: Makes the answer when the limit has passed.
    func begin(for seconds: Double, otherwise answer: @escaping @Sendable () -> Answer) {
        guard seconds > 0 else { return }
        let token = deadlines.add(after: seconds) { self.take(abandons: true)?(answer()) }
        let isOver = state.withLock { state in
            state.token = token
            return state.completion == nil
        }
        if isOver { deadlines.remove(token) }
    }

    /// Ends the wait with an answer; calls after the first have no effect.
    func answer(_ answer: Answer) {
        take(abandons: false)?(answer)
    }

    func cancel(_ error: SessionError) {
        guard let completion = take(abandons: true), let cancelledAnswer else { return }
        completion(cancelledAnswer(error))
    }

    /// Sets the closure to call when the wait ends without an answer; calls it at once if it
    /// already has.
    func onAbandon(_ abandon: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if state.completion != nil { state.abandon = abandon }
            return state.isAbandoned
        }
        if isLate { abandon() }
    }

    /// Ends the wait and returns the completion to call; `nil` if the wait was already over.
    private func take(abandons: Bool) -> (@Sendable (Answer) -> Void)? {
        let ended = state.withLock { state -> State? in
            guard state.completion != nil else { return nil }
            defer { state = State(isAbandoned: abandons) }
            return state
        }
        if let token = ended?.token { deadlines.remove(token) }
        if abandons { ended?.abandon?() }
        return ended?.completion
    }
}

/// A wait without its answer's type, as a request stores it.
protocol PendingWait: AnyObject, Sendable {
    /// Ends the wait without an answer, so that the caller continues with the error.
    ///
    /// Has no effect after an answer.
    func cancel(_ error: SessionError)
}

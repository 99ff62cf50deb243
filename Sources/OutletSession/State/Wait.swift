import OutletTransport

/// A wait for one answer: the first one given, the deadline's, or none once it is called off.
final class Wait<Answer: Sendable>: PendingWait {
    private struct State: Sendable {
        var completion: (@Sendable (Answer) -> Void)?
        var token: Deadlines.Token?
        /// Cancels the work that was to answer: nothing waits for it any more.
        var abandon: (@Sendable () -> Void)?
        /// Whether it ended without an answer.
        var isAbandoned = false
    }

    private let deadlines: Deadlines
    private let calledOff: (@Sendable (SessionError) -> Answer)?
    private let state: Lock<State>

    /// Makes a wait that ``begin(for:otherwise:)`` starts.
    ///
    /// - Parameters:
    ///   - deadlines: Keeps the time.
    ///   - calledOff: The answer when the wait is called off; nothing is called if `nil`.
    ///   - completion: Called with the answer, once at most.
    init(
        _ deadlines: Deadlines, calledOff: (@Sendable (SessionError) -> Answer)? = nil,
        completion: @escaping @Sendable (Answer) -> Void
    ) {
        self.deadlines = deadlines
        self.calledOff = calledOff
        state = Lock(State(completion: completion))
    }

    /// Ends the wait with that answer after so many seconds; 0 or less means no limit.
    func begin(for seconds: Double, otherwise answer: @escaping @Sendable () -> Answer) {
        guard seconds > 0 else { return }
        let token = deadlines.add(after: seconds) { self.take(abandons: true)?(answer()) }
        let isOver = state.withLock { state in
            state.token = token
            return state.completion == nil
        }
        if isOver { deadlines.remove(token) }
    }

    /// Gives the answer; only the first counts.
    func answer(_ answer: Answer) {
        take(abandons: false)?(answer)
    }

    func callOff(_ error: SessionError) {
        guard let completion = take(abandons: true), let calledOff else { return }
        completion(calledOff(error))
    }

    /// What to do when the wait ends without an answer; done at once if it did already.
    func onAbandon(_ abandon: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if state.completion != nil { state.abandon = abandon }
            return state.isAbandoned
        }
        if isLate { abandon() }
    }

    /// Ends the wait, and says what to call; `nil` if it is over.
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

/// What a request is waiting for, whatever the answer's type.
protocol PendingWait: AnyObject, Sendable {
    /// Ends the wait: the caller goes on in its place. No effect after an answer.
    func callOff(_ error: SessionError)
}

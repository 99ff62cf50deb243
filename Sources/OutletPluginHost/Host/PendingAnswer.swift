import OutletTransport

/// Passes one answer to one receiver, whichever of the two is set first.
///
/// Thread: any.
final class PendingAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case open
        case given(Answer)
        case awaited(@Sendable (Answer) -> Void)
        case over
    }

    private let state = Lock(State.open)

    /// The answer; `nil` before it is given and after the receiver has taken it.
    var given: Answer? {
        state.withLock { state in
            if case .given(let answer) = state { answer } else { nil }
        }
    }

    /// Sets the answer; calls the receiver on this thread if there is one.
    func give(_ answer: Answer) {
        let waiting = state.withLock { state -> (@Sendable (Answer) -> Void)? in
            guard case .awaited(let waiting) = state else {
                state = .given(answer)
                return nil
            }
            state = .over
            return waiting
        }
        waiting?(answer)
    }

    /// Sets the receiver.
    ///
    /// - Parameter body: Called once: on this thread before this function returns if the answer has
    ///   been given, otherwise on the thread that gives it.
    func whenGiven(_ body: @escaping @Sendable (Answer) -> Void) {
        let answer = state.withLock { state -> Answer? in
            guard case .given(let answer) = state else {
                state = .awaited(body)
                return nil
            }
            state = .over
            return answer
        }
        if let answer { body(answer) }
    }
}

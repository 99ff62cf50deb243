import OutletTransport

/// Connects an answer with its receiver, in whichever order they come.
///
/// Thread: any.
final class LaterAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case open
        case given(Answer)
        case awaited(@Sendable (Answer) -> Void)
        case over
    }

    private let state = Lock(State.open)

    /// The answer, if it was given and no receiver has taken it.
    var given: Answer? {
        state.withLock { state in
            if case .given(let answer) = state { answer } else { nil }
        }
    }

    /// Gives the answer; calls the receiver if there is one.
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

    /// Sets the receiver, which is called once; at once if the answer is there.
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

import OutletTransport

/// An answer and who waits for it, whichever comes first.
final class LaterAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case open
        case given(Answer)
        case awaited(@Sendable (Answer) -> Void)
        case over
    }

    private let state = Lock(State.open)

    /// The answer, if it has been given and nobody waits for it.
    var given: Answer? {
        state.withLock { state in
            if case .given(let answer) = state { answer } else { nil }
        }
    }

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

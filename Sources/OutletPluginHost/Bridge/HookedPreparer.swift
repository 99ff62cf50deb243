import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// A plugin's `prepare` as an adapter that is asked last.
final class HookedPreparer: RequestPreparer, RedirectGuard, AbandonableAdapter {
    private let instance: PluginInstance
    /// How long the answer is waited for, in nanoseconds.
    private let limit: UInt64
    private let running: RunningPlugins

    init(_ instance: PluginInstance, limit: UInt64, keeping running: RunningPlugins) {
        self.instance = instance
        self.limit = limit
        self.running = running
    }

    /// None of the session's: the hook has a deadline of its own, whose error names the plugin.
    var answerTimeout: TimeInterval? { 0 }

    var synchronous: (any SynchronousRequestAdapter)? {
        instance.isNonblocking ? QuickPreparer(preparer: self) : nil
    }

    func beginAdapting(
        _ request: HTTPRequest, using state: RequestAdapterState,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
        guard let hook = instance.hooks.prepare else {
            completion(.success(request))
            return nil
        }
        return instance.adapt(request, by: .prepare, hook, limit: limit, completion)
    }

    /// The hook of a plugin that never blocks: it has answered when it returns, or has promised to.
    private struct QuickPreparer: SynchronousRequestAdapter {
        let preparer: HookedPreparer

        func adapt(_ request: HTTPRequest, using state: RequestAdapterState) throws -> HTTPRequest {
            let answer = LaterAnswer<Result<HTTPRequest, any Error>>()
            let abandon = preparer.beginAdapting(request, using: state) { answer.give($0) }
            guard let result = answer.taken else {
                throw AnswerFollows { completion in
                    answer.whenGiven(completion)
                    return abandon
                }
            }
            return try result.get()
        }
    }
}

/// An answer and who waits for it, whichever comes first.
private final class LaterAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case open
        case given(Answer)
        case awaited(@Sendable (Answer) -> Void)
        case over
    }

    private let state = Lock(State.open)

    /// The answer, if it has been given.
    var taken: Answer? {
        state.withLock { state in
            guard case .given(let answer) = state else { return nil }
            state = .over
            return answer
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

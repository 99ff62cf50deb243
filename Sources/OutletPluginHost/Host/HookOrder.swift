import OutletHTTP
import OutletTransport

/// Runs the hooks of one call that observe or process it one after the other, on whatever threads
/// they use.
///
/// Thread: any.
final class HookOrder: Sendable {
    /// A step; calls `done` once when it has finished, on any thread, also before it returns.
    typealias Step = @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

    private struct State {
        var isRunning = false
        var waiting: [Step] = []
    }

    private let state = Lock(State())

    /// Runs a step after all earlier steps; at once, on the calling thread, if there are none.
    func run(_ step: @escaping Step) {
        let isFirst = state.withLock { state in
            guard state.isRunning else {
                state.isRunning = true
                return true
            }
            state.waiting.append(step)
            return false
        }
        if isFirst { step { self.next() } }
    }

    private func next() {
        let step = state.withLock { state -> Step? in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        step? { self.next() }
    }
}

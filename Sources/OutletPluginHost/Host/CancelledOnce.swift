import OutletTransport

/// What is to be told that nobody waits any more, one after the other.
final class CancelledOnce: Sendable {
    private struct State {
        var isCancelled = false
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    /// Whether nobody waits any more.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Nobody waits any more: for what is under way, and for whatever follows.
    func cancel() {
        let cancel = state.withLock { state in
            state.isCancelled = true
            return state.cancel.take()
        }
        cancel?()
    }

    /// Something is under way in place of what was.
    func keep(_ cancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.cancel = cancel }
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }
}

import OutletTransport

/// The cancellation of a sequence of operations of which one runs at a time.
///
/// Thread: any.
final class CancelledOnce: Sendable {
    private struct State {
        var isCancelled = false
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    /// Whether it has been cancelled.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Cancels the current operation and all that follow.
    func cancel() {
        let cancel = state.withLock { state in
            state.isCancelled = true
            return state.cancel.take()
        }
        cancel?()
    }

    /// Sets the closure that cancels the current operation; calls it now if cancelled already.
    func keep(_ cancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.cancel = cancel }
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }
}

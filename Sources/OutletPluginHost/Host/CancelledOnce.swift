import OutletTransport

/// The cancellation of a sequence of operations of which one runs at a time.
///
/// Thread: any.
final class CancelledOnce: Sendable {
    private struct State {
        var isCancelled = false
        /// The number of operations begun.
        var operations = 0
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

    /// Begins an operation.
    ///
    /// - Returns: Its number, for ``keep(_:of:)``.
    func begin() -> Int {
        state.withLock { state in
            state.operations += 1
            state.cancel = nil
            return state.operations
        }
    }

    /// Sets the closure that cancels an operation; calls it now if cancelled already.
    ///
    /// Does nothing if a later operation has begun, because the operation has then ended.
    func keep(_ cancel: @escaping @Sendable () -> Void, of operation: Int) {
        let isCancelled = state.withLock { state in
            guard operation == state.operations else { return false }
            if !state.isCancelled { state.cancel = cancel }
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }
}

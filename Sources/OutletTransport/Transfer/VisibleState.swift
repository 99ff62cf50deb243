import Synchronization

/// The value of ``TransferTask/state``, readable on any thread.
package struct VisibleState: ~Copyable, Sendable {
    private let value = Atomic<UInt8>(TransferState.running.rawValue)

    package init() {}

    /// The state.
    package var state: TransferState {
        TransferState(rawValue: value.load(ordering: .relaxed)) ?? .completed
    }

    /// Sets the state; no effect after a cancel or the end.
    package borrowing func change(to wanted: TransferState) {
        var seen = value.load(ordering: .relaxed)
        while seen < TransferState.canceling.rawValue {
            let (isDone, found) = value.weakCompareExchange(
                expected: seen, desired: wanted.rawValue, ordering: .relaxed)
            if isDone { return }
            seen = found
        }
    }

    /// Sets the state to ``TransferState/completed``.
    package borrowing func complete() {
        value.store(TransferState.completed.rawValue, ordering: .relaxed)
    }
}

import Synchronization

/// A transfer's state as other threads see it; for implementations of ``TransferTask``.
package struct VisibleState: ~Copyable, Sendable {
    private let value = Atomic<UInt8>(TransferState.running.rawValue)

    package init() {}

    /// The state.
    package var state: TransferState {
        TransferState(rawValue: value.load(ordering: .relaxed)) ?? .completed
    }

    /// What the transfer was told to do; no effect once it was cancelled or has ended.
    package borrowing func wish(_ wanted: TransferState) {
        var seen = value.load(ordering: .relaxed)
        while seen < TransferState.canceling.rawValue {
            let (isDone, found) = value.weakCompareExchange(
                expected: seen, desired: wanted.rawValue, ordering: .relaxed)
            if isDone { return }
            seen = found
        }
    }

    /// The transfer has ended.
    package borrowing func complete() {
        value.store(TransferState.completed.rawValue, ordering: .relaxed)
    }
}

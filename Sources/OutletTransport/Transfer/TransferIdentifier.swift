import Synchronization

/// Numbers the transfers of this process, across all transports.
///
/// Thread: any.
public enum TransferIdentifier {
    private static let last = Atomic<UInt64>(0)

    /// Returns the next number, greater than all before; for ``TransferTask/identifier``.
    public static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}

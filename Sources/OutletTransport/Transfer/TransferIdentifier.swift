import Synchronization

/// Numbers the transfers of this process, whatever transport carries them.
///
/// Thread: any.
public enum TransferIdentifier {
    private static let last = Atomic<UInt64>(0)

    /// The next number, greater than all before; for ``TransferTask/identifier``.
    public static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}

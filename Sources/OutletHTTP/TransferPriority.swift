/// Which of several waiting requests goes first.
public enum TransferPriority: UInt8, Sendable, Comparable, CaseIterable {
    /// After all others.
    case low
    /// The usual.
    case normal
    /// Before all others.
    case high

    /// Orders priorities from low to high.
    public static func < (a: TransferPriority, b: TransferPriority) -> Bool {
        a.rawValue < b.rawValue
    }
}

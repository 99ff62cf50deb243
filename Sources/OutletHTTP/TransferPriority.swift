/// The order in which requests that wait for a connection get one.
public enum TransferPriority: UInt8, Sendable, Comparable, CaseIterable {
    /// After waiting requests of higher priority.
    case low
    /// The default.
    case normal
    /// Before waiting requests of lower priority.
    case high

    /// Orders priorities from low to high.
    public static func < (a: TransferPriority, b: TransferPriority) -> Bool {
        a.rawValue < b.rawValue
    }
}

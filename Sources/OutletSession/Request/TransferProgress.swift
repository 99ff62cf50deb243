/// How far a body has come, in bytes.
public struct TransferProgress: Sendable, Equatable {
    /// How many bytes have passed.
    public var completedUnitCount: Int64
    /// How many bytes there are in all; -1 when that is not known, 0 before anything is.
    public var totalUnitCount: Int64

    /// Makes a progress.
    public init(completedUnitCount: Int64 = 0, totalUnitCount: Int64 = 0) {
        self.completedUnitCount = completedUnitCount
        self.totalUnitCount = totalUnitCount
    }

    /// The completed part, from 0 to 1; 0 when the total is not known.
    public var fractionCompleted: Double {
        guard totalUnitCount > 0 else { return 0 }
        return min(1, Double(completedUnitCount) / Double(totalUnitCount))
    }

    /// Whether all bytes have passed; never when the total is not known.
    public var isFinished: Bool { totalUnitCount > 0 && completedUnitCount >= totalUnitCount }
    /// Whether the total is not known.
    public var isIndeterminate: Bool { totalUnitCount < 0 }
}

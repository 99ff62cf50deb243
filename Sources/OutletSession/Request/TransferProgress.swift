/// The progress of a body, in bytes.
public struct TransferProgress: Sendable, Equatable {
    /// The bytes transferred so far.
    public var completedUnitCount: Int64
    /// The length of the body in bytes; -1 if it is not known, 0 before the transfer has started.
    public var totalUnitCount: Int64

    /// Makes a progress.
    ///
    /// - Parameters:
    ///   - completedUnitCount: The bytes transferred so far.
    ///   - totalUnitCount: The length of the body in bytes; -1 if it is not known.
    public init(completedUnitCount: Int64 = 0, totalUnitCount: Int64 = 0) {
        self.completedUnitCount = completedUnitCount
        self.totalUnitCount = totalUnitCount
    }

    /// The completed fraction, from 0 to 1; 0 if the length is not known.
    public var fractionCompleted: Double {
        guard totalUnitCount > 0 else { return 0 }
        return min(1, Double(completedUnitCount) / Double(totalUnitCount))
    }

    /// Whether all bytes were transferred; `false` if the length is not known.
    public var isFinished: Bool { totalUnitCount > 0 && completedUnitCount >= totalUnitCount }
    /// Whether the length is not known.
    public var isIndeterminate: Bool { totalUnitCount < 0 }
}

/// The place of a response's body within the content that is downloaded.
struct BodyPlace {
    /// How many bytes of the content were received before.
    let offset: Int64
    /// The length of the content in bytes; `nil` if it ends with the body.
    let total: Int64?

    /// The progress of the content.
    ///
    /// - Parameters:
    ///   - count: The bytes of the body received so far.
    ///   - length: The length of the body in bytes; -1 if it is not known.
    func progress(_ count: Int64, of length: Int64) -> TransferProgress {
        TransferProgress(
            completedUnitCount: offset + count,
            totalUnitCount: total ?? (length < 0 ? -1 : offset + length))
    }
}

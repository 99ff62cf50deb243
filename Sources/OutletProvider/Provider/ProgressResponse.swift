public import OutletSession

/// Told how far a provider's request has come.
public typealias ProgressBlock = @Sendable (_ progress: ProgressResponse) -> Void

/// How far a provider's request has come.
public struct ProgressResponse: Sendable {
    /// The response; with the last call only, and only if it was accepted.
    public let response: Response?
    /// How many bytes of the body have come, of how many.
    public let progressObject: TransferProgress?

    /// Makes a value.
    public init(progress: TransferProgress? = nil, response: Response? = nil) {
        progressObject = progress
        self.response = response
    }

    /// How much has come, from 0 to 1; 0 as long as nobody knows how much there is.
    public var progress: Double {
        if completed { return 1 }
        guard let progressObject, progressObject.totalUnitCount > 0 else { return 0 }
        return progressObject.fractionCompleted
    }

    /// Whether the response is there.
    public var completed: Bool { response != nil }
}

public import OutletSession

/// Receives the progress of a provider's request.
///
/// Thread: the queue of the request's completion.
public typealias ProgressBlock = @Sendable (_ progress: ProgressResponse) -> Void

/// The progress of a provider's request.
public struct ProgressResponse: Sendable {
    /// The response; `nil` before the last call, and if the request failed.
    public let response: Response?
    /// The transferred and the expected bytes: of the request's body for uploads, else of the
    /// response's body.
    public let progressObject: TransferProgress?

    /// Makes a value.
    ///
    /// - Parameters:
    ///   - progress: The transferred and the expected bytes; `nil` if not known.
    ///   - response: The response; `nil` while there is none.
    public init(progress: TransferProgress? = nil, response: Response? = nil) {
        progressObject = progress
        self.response = response
    }

    /// The transferred fraction, from 0 to 1; 0 while the length is not known, 1 with a response.
    public var progress: Double {
        if completed { return 1 }
        guard let progressObject, progressObject.totalUnitCount > 0 else { return 0 }
        return progressObject.fractionCompleted
    }

    /// Whether ``response`` is set.
    public var completed: Bool { response != nil }
}

public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// The response of a finished download: request, head, file, metrics and serialized value.
public struct DownloadResponse<Success: Sendable, Failure: Error>: Sendable {
    /// The last request, as adapted; `nil` when none could be made.
    public let request: HTTPRequest?
    /// The head of the response, if one arrived.
    public let response: HTTPResponse?
    /// The downloaded file; `nil` when there is none.
    public let fileURL: URL?
    /// The data to resume the download with; `nil` when there is nothing to resume.
    public let resumeData: Data?
    /// The metrics of the last attempt; `nil` when there was no transfer.
    public let metrics: TransferMetrics?
    /// How long serialization took, in seconds.
    public let serializationDuration: TimeInterval
    /// The serialized value, or the error.
    public let result: Result<Success, Failure>

    /// The serialized value; `nil` after a failure.
    public var value: Success? { try? result.get() }

    /// The error; `nil` after a success.
    public var error: Failure? {
        guard case .failure(let error) = result else { return nil }
        return error
    }

    /// Makes a response, for instance in tests.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - fileURL: The downloaded file; `nil` when there is none.
    ///   - resumeData: The data to resume the download with; `nil` when it cannot be resumed.
    ///   - metrics: The metrics of the last attempt; `nil` when there was no transfer.
    ///   - serializationDuration: How long serialization took, in seconds.
    ///   - result: The serialized value, or the error.
    public init(
        request: HTTPRequest?, response: HTTPResponse?, fileURL: URL?, resumeData: Data?,
        metrics: TransferMetrics?, serializationDuration: TimeInterval,
        result: Result<Success, Failure>
    ) {
        self.request = request
        self.response = response
        self.fileURL = fileURL
        self.resumeData = resumeData
        self.metrics = metrics
        self.serializationDuration = serializationDuration
        self.result = result
    }

    func with<S, F>(_ result: Result<S, F>) -> DownloadResponse<S, F> {
        DownloadResponse<S, F>(
            request: request, response: response, fileURL: fileURL, resumeData: resumeData,
            metrics: metrics, serializationDuration: serializationDuration, result: result)
    }

    /// Returns the response with its value transformed.
    ///
    /// - Parameter transform: Called at once with the value; not called after a failure.
    public func map<New>(_ transform: (Success) -> New) -> DownloadResponse<New, Failure> {
        with(result.map(transform))
    }

    /// Returns the response with its value transformed, or with the error that `transform` throws.
    ///
    /// - Parameter transform: Called at once with the value; not called after a failure.
    public func tryMap<New>(
        _ transform: (Success) throws -> New
    ) -> DownloadResponse<New, any Error> {
        with(
            result.mapError { $0 as any Error }.flatMap { value in
                Result { try transform(value) }
            })
    }

    /// Returns the response with its error transformed.
    ///
    /// - Parameter transform: Called at once with the error; not called after a success.
    public func mapError<New: Error>(
        _ transform: (Failure) -> New
    ) -> DownloadResponse<Success, New> {
        with(result.mapError(transform))
    }

    /// Returns the response with its error transformed, or with the error that `transform` throws.
    ///
    /// - Parameter transform: Called at once with the error; not called after a success.
    public func tryMapError<New: Error>(
        _ transform: (Failure) throws -> New
    ) -> DownloadResponse<Success, any Error> {
        with(
            result.mapError { error in
                do { return try transform(error) } catch { return error }
            })
    }
}

extension DownloadResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The result; for a failure also the request's method and URL, without secrets.
    public var description: String { DebugSections.result(result, of: request) }

    /// Request, response, file, durations and result, a section each; without secrets, except those
    /// in the result's value.
    public var debugDescription: String {
        guard let request else { return "[Request]: None\n[Result]: \(result)" }
        return [
            DebugSections.request(request), DebugSections.response(response),
            "[File URL]: \(fileURL?.path ?? "None")",
            "[Resume Data]: \(resumeData.map { "\($0.count) bytes" } ?? "None")",
            DebugSections.durations(metrics, serializationDuration), "[Result]: \(result)",
        ].joined(separator: "\n")
    }
}

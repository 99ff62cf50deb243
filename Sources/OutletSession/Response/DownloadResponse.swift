public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Everything about a finished download: what was sent, where the file is, what was made of it.
public struct DownloadResponse<Success: Sendable, Failure: Error>: Sendable {
    /// The last request that was sent; `nil` when none could be made.
    public let request: HTTPRequest?
    /// The head of the response, if one arrived.
    public let response: HTTPResponse?
    /// Where the file is; `nil` when there is none.
    public let fileURL: URL?
    /// What is needed to go on with a download that broke off.
    public let resumeData: Data?
    /// The measures of the last attempt.
    public let metrics: TransferMetrics?
    /// How long serializing took, in seconds.
    public let serializationDuration: TimeInterval
    /// The value, or why there is none.
    public let result: Result<Success, Failure>

    /// The value, if there is one.
    public var value: Success? { try? result.get() }

    /// Why there is no value.
    public var error: Failure? {
        guard case .failure(let error) = result else { return nil }
        return error
    }

    /// Makes a response.
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

    /// The same response with another value.
    public func map<New>(_ transform: (Success) -> New) -> DownloadResponse<New, Failure> {
        with(result.map(transform))
    }

    /// The same response with another value, or the error that `transform` throws.
    public func tryMap<New>(
        _ transform: (Success) throws -> New
    ) -> DownloadResponse<New, any Error> {
        with(
            result.mapError { $0 as any Error }.flatMap { value in
                Result { try transform(value) }
            })
    }

    /// The same response with another error.
    public func mapError<New: Error>(
        _ transform: (Failure) -> New
    ) -> DownloadResponse<Success, New> {
        with(result.mapError(transform))
    }

    /// The same response with another error, or the one that `transform` throws.
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
    /// The result; of a failure the request too, method and address without secrets.
    public var description: String { DebugSections.result(result, of: request) }

    /// Request, response, file, durations and result, a section each; secrets are left out.
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

public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// The response of a finished request: request, head, body, metrics and serialized value.
public struct DataResponse<Success: Sendable, Failure: Error>: Sendable {
    private let outcome: AttemptOutcome
    /// The last request, as adapted; `nil` when none could be made.
    public var request: HTTPRequest? { outcome.request }
    /// The head of the response, if one arrived.
    public var response: HTTPResponse? { outcome.response }
    /// The body; `nil` when no byte arrived.
    public var data: Data? { outcome.data }
    /// The metrics of the last attempt; `nil` when there was no transfer.
    public var metrics: TransferMetrics? { outcome.metrics }
    /// How long serialization took, in seconds; 0 for a body that is delivered unchanged.
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
    ///   - data: The body; `nil` when no byte arrived.
    ///   - metrics: The metrics of the last attempt; `nil` when there was no transfer.
    ///   - serializationDuration: How long serialization took, in seconds.
    ///   - result: The serialized value, or the error.
    public init(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, metrics: TransferMetrics?,
        serializationDuration: TimeInterval, result: Result<Success, Failure>
    ) {
        self.init(
            AttemptOutcome(
                request: request, response: response, data: data,
                metrics: metrics,
                error: nil),
            result, took: serializationDuration)
    }

    init(_ outcome: AttemptOutcome, _ result: Result<Success, Failure>, took duration: Double) {
        self.outcome = outcome
        self.serializationDuration = duration
        self.result = result
    }

    func with<S, F>(_ result: Result<S, F>) -> DataResponse<S, F> {
        DataResponse<S, F>(outcome, result, took: serializationDuration)
    }

    /// Returns the response with its value transformed.
    ///
    /// - Parameter transform: Called at once with the value; not called after a failure.
    public func map<New>(_ transform: (Success) -> New) -> DataResponse<New, Failure> {
        with(result.map(transform))
    }

    /// Returns the response with its value transformed, or with the error that `transform` throws.
    ///
    /// - Parameter transform: Called at once with the value; not called after a failure.
    public func tryMap<New>(
        _ transform: (Success) throws -> New
    ) -> DataResponse<New, any Error> {
        with(
            result.mapError { $0 as any Error }.flatMap { value in
                Result { try transform(value) }
            })
    }

    /// Returns the response with its error transformed.
    ///
    /// - Parameter transform: Called at once with the error; not called after a success.
    public func mapError<New: Error>(_ transform: (Failure) -> New) -> DataResponse<Success, New> {
        with(result.mapError(transform))
    }

    /// Returns the response with its error transformed, or with the error that `transform` throws.
    ///
    /// - Parameter transform: Called at once with the error; not called after a success.
    public func tryMapError<New: Error>(
        _ transform: (Failure) throws -> New
    ) -> DataResponse<Success, any Error> {
        with(
            result.mapError { error in
                do { return try transform(error) } catch { return error }
            })
    }
}

extension DataResponse where Success == Data?, Failure == SessionError {
    init(unserialized outcome: AttemptOutcome) {
        self.init(
            outcome, outcome.error.map(Result.failure) ?? .success(outcome.data), took: 0)
    }
}

extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The result; for a failure also the request's method and URL, without secrets.
    public var description: String { DebugSections.result(result, of: request) }

    /// Request, response, durations and result, a section each; without secrets, except those in
    /// the result's value.
    public var debugDescription: String {
        guard let request else { return "[Request]: None\n[Result]: \(result)" }
        let type = response?.mimeType
        let shown = data.map { Data(Redaction.standard.bodyBytes($0, contentType: type)) }
        let body = DebugSections.body(shown, type: type)
        return [
            DebugSections.request(request), DebugSections.response(response, body: body),
            DebugSections.durations(metrics, serializationDuration), "[Result]: \(result)",
        ].joined(separator: "\n")
    }
}

public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Everything about a finished request: what was sent, what came back, what was made of it.
public struct DataResponse<Success: Sendable, Failure: Error>: Sendable {
    private let facts: AttemptOutcome
    /// The last request that was sent; `nil` when none could be made.
    public var request: HTTPRequest? { facts.request }
    /// The head of the response, if one arrived.
    public var response: HTTPResponse? { facts.response }
    /// The body; `nil` when no byte arrived.
    public var data: Data? { facts.data }
    /// The measures of the last attempt.
    public var metrics: TransferMetrics? { facts.metrics }
    /// How long serializing took, in seconds; 0 where the body was handed over as it is.
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

    init(_ facts: AttemptOutcome, _ result: Result<Success, Failure>, took duration: Double) {
        self.facts = facts
        self.serializationDuration = duration
        self.result = result
    }

    func with<S, F>(_ result: Result<S, F>) -> DataResponse<S, F> {
        DataResponse<S, F>(facts, result, took: serializationDuration)
    }

    /// The same response with another value.
    public func map<New>(_ transform: (Success) -> New) -> DataResponse<New, Failure> {
        with(result.map(transform))
    }

    /// The same response with another value, or the error that `transform` throws.
    public func tryMap<New>(
        _ transform: (Success) throws -> New
    ) -> DataResponse<New, any Error> {
        with(
            result.mapError { $0 as any Error }.flatMap { value in
                Result { try transform(value) }
            })
    }

    /// The same response with another error.
    public func mapError<New: Error>(_ transform: (Failure) -> New) -> DataResponse<Success, New> {
        with(result.mapError(transform))
    }

    /// The same response with another error, or the one that `transform` throws.
    public func tryMapError<New: Error>(
        _ transform: (Failure) throws -> New
    ) -> DataResponse<Success, any Error> {
        with(
            result.mapError { error in
                do { return try transform(error) } catch { return error }
            })
    }
}

extension DataResponse: CustomStringConvertible, CustomDebugStringConvertible {
    /// The result; of a failure the request too, method and address without secrets.
    public var description: String { DebugSections.result(result, of: request) }

    /// Request, response, durations and result, a section each; secrets are left out but for those
    /// in the result's value.
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

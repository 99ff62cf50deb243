public import FoundationEssentials
public import OutletHTTP
import OutletSession
public import OutletTransport

/// Converts the outcome of a session's request to a provider's result.
///
/// - Parameters:
///   - response: The head; `nil` if none arrived.
///   - request: The request of the last attempt.
///   - data: The body; `nil` counts as empty.
///   - error: The error of the session or a validator; `nil` if the request succeeded.
///   - metrics: The metrics of the last attempt.
///   - fileURL: The file of a download.
/// - Returns: The response, or ``ProviderError/underlying(_:_:)`` with `error` and the response if
///   one arrived. With neither response nor error, the error is a `TransferError` with the code
///   `unknown`.
public func convertResponseToResult(
    _ response: HTTPResponse?, request: HTTPRequest?, data: Data?, error: (any Error)?,
    metrics: TransferMetrics? = nil, fileURL: URL? = nil
) -> Result<Response, ProviderError> {
    result(
        of: AttemptOutcome(
            request: request, response: response, data: data, metrics: metrics, error: nil),
        error: error, fileURL: fileURL)
}

/// As ``convertResponseToResult(_:request:data:error:metrics:fileURL:)``, without copying the parts.
func result(
    of outcome: AttemptOutcome, error: (any Error)?, fileURL: URL? = nil
) -> Result<Response, ProviderError> {
    let received = outcome.response.map { head in
        Response(statusCode: head.statusCode, outcome, fileURL: fileURL)
    }
    switch (received, error) {
    case (let received, let error?): return .failure(.underlying(error, received))
    case (let received?, nil): return .success(received)
    case (nil, nil):
        let error = TransferError(
            code: .unknown, reason: "the request ended with neither a response nor an error")
        return .failure(.underlying(error, nil))
    }
}

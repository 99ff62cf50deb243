public import FoundationEssentials
public import OutletHTTP
import OutletSession
public import OutletTransport

/// Makes a provider's result of what a session's request brought.
///
/// An error is ``ProviderError/underlying(_:_:)``, with the response if one arrived; a response without
/// a body has no bytes. Neither of them is an error, too.
public func convertResponseToResult(
    _ response: HTTPResponse?, request: HTTPRequest?, data: Data?, error: (any Error)?,
    metrics: TransferMetrics? = nil, fileURL: URL? = nil
) -> Result<Response, ProviderError> {
    let received = response.map { head in
        Response(
            statusCode: head.statusCode, data: data ?? Data(), request: request, response: head,
            metrics: metrics, fileURL: fileURL)
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

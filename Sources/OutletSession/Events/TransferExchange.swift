public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// A transfer that has ended: the request, the response and the metrics.
///
/// An attempt without redirects is one exchange; each redirect that it followed adds one.
public struct TransferExchange: Sendable {
    /// The request as it was sent.
    public var request: HTTPRequest
    /// The body of the request; `nil` if it has none, or is read from a file or a stream.
    public var requestBody: Data?
    /// The final head of the response; `nil` if none arrived.
    public var response: HTTPResponse?
    /// The interim heads (1xx) before the final one; only recording transports set them.
    public var interimHeads: [HTTPResponse] = []
    /// The decoded body; `nil` if no byte arrived, or the body was streamed or written to a file.
    public var body: Data?
    /// The trailer fields; `nil` if there were none.
    public var trailers: HTTPHeaders?
    /// Why the transfer failed; `nil` if it did not.
    public var error: TransferError?
    /// The metrics of this transfer only.
    public var metrics: TransferMetrics
    /// When the transfer began, the time in the queue included.
    public var start: Date
    /// The ``Request/id`` of the session's request; `nil` outside of a session.
    public var requestID: UUID?
    /// The number of the request's attempt, from 1, as `RequestContext.attempt`; `nil` outside of a
    /// session.
    public var attempt: Int?

    /// Makes an exchange from the result of a transfer that has just ended.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - result: The result; ``start`` is the current time minus the time in its metrics.
    public init(request: HTTPRequest, result: TransferResult) {
        self.request = request
        requestBody = request.body.data
        response = result.response
        body = result.body
        trailers = result.trailers
        error = result.error
        metrics = result.metrics
        let took = result.metrics.total + result.metrics.queued
        start = Date(timeIntervalSinceNow: -Double(took) / 1_000_000)
    }
}

public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// One transfer that is over: what was asked and answered, and how long it took.
///
/// An attempt of a request is one exchange, and one more for each redirect that it followed.
public struct TransferExchange: Sendable {
    /// The request as it went on the wire.
    public var request: HTTPRequest
    /// Its body, as far as it is known; `nil` for none and for those read from files and streams.
    public var requestBody: Data?
    /// The final head, if one arrived.
    public var response: HTTPResponse?
    /// The heads before that one (1xx); transports that are watched for it only.
    public var interimHeads: [HTTPResponse] = []
    /// The body, decoded; `nil` when no byte arrived, or it went elsewhere.
    public var body: Data?
    /// Fields behind the body.
    public var trailers: HTTPHeaders?
    /// Why the transfer failed.
    public var error: TransferError?
    /// What was measured of this transfer alone.
    public var metrics: TransferMetrics
    /// When it began.
    public var start: Date
    /// The request of the session that it belongs to.
    public var requestID: UUID?
    /// Which attempt of that request it belongs to, from 1.
    public var attempt: Int?

    /// Makes an exchange of what a transport has brought, just now.
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

import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What is known of an attempt that is over, as serializers are told.
///
/// A reference, because responses carry it through many hands.
final class AttemptOutcome: Sendable {
    /// The last request that was made.
    let request: HTTPRequest?
    let response: HTTPResponse?
    let data: Data?
    /// The measures of the last transfer, if there was one.
    var metrics: TransferMetrics? { isMeasured ? measures : nil }
    private let measures: TransferMetrics
    private let isMeasured: Bool
    /// Why the request has failed already.
    let error: SessionError?

    init(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, measures: TransferMetrics,
        isMeasured: Bool = true, error: SessionError?
    ) {
        self.request = request
        self.response = response
        self.data = data
        // Not an optional, which would be cleared by way of its type's table.
        self.measures = measures
        self.isMeasured = isMeasured
        self.error = error
    }

    convenience init(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, metrics: TransferMetrics?,
        error: SessionError?
    ) {
        self.init(
            request: request, response: response, data: data,
            measures: metrics ?? TransferMetrics(), isMeasured: metrics != nil, error: error)
    }
}

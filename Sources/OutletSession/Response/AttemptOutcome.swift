package import FoundationEssentials
package import OutletHTTP
package import OutletTransport

/// The outcome of an attempt that is over: what validators and serializers get.
///
/// A class, because responses are copied often.
package final class AttemptOutcome: Sendable {
    /// The last request that was made.
    package let request: HTTPRequest?
    package let response: HTTPResponse?
    package let data: Data?
    /// The metrics of the last transfer, if there was one.
    package var metrics: TransferMetrics? { isMeasured ? measures : nil }
    private let measures: TransferMetrics
    private let isMeasured: Bool
    /// Why the request has failed; `nil` if it has not.
    package let error: SessionError?

    /// - Parameter isMeasured: Whether `measures` are those of a transfer. Not an optional, which
    ///   would be copied and destroyed through the type's value witness table.
    init(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, measures: TransferMetrics,
        isMeasured: Bool, error: SessionError?
    ) {
        self.request = request
        self.response = response
        self.data = data
        self.measures = measures
        self.isMeasured = isMeasured
        self.error = error
    }

    package convenience init(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, metrics: TransferMetrics?,
        error: SessionError?
    ) {
        self.init(
            request: request, response: response, data: data,
            measures: metrics ?? TransferMetrics(), isMeasured: metrics != nil, error: error)
    }
}

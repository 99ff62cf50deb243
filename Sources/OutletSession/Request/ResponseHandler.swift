import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What a user wants done with a finished request: make a value, then hand it over.
struct ResponseHandler: Sendable {
    /// Where the value is handed over.
    enum Destination: Sendable {
        /// On that queue; the session's callback queue when `nil`.
        case queue(DispatchQueue?)
        /// Wherever the request is being finished: it resumes a task, which runs elsewhere.
        case anywhere
    }

    let destination: Destination
    /// Whether serializing runs no code of the user's and takes microseconds at most.
    let isQuick: Bool
    /// Makes the value.
    let serialize: @Sendable (Request, AttemptFacts) -> Serialized

    /// A value that was made, or failed to be.
    struct Serialized: Sendable {
        /// Why it failed; retriers are asked about it.
        let failure: SessionError?
        /// Hands the value over; with an error, hands that over in its place.
        let deliver: @Sendable (SessionError?) -> Void
    }
}

/// What is known of an attempt that is over, as serializers are told.
///
/// A reference, because responses carry it through many hands.
final class AttemptFacts: Sendable {
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

extension Request.Mutable {
    /// What serializers are told of the last attempt.
    var facts: AttemptFacts {
        // Judges and retriers may have had their say since.
        if let outcome, error == nil, outcome.error == nil { return outcome }
        return AttemptFacts(
            request: history.requests.last, response: response, data: data, metrics: lastMetrics,
            error: error)
    }
}

/// A value that waits for the other serializers.
struct Delivery: Sendable {
    let destination: ResponseHandler.Destination
    var replacement: SessionError?
    let serialized: ResponseHandler.Serialized

    func deliver() { serialized.deliver(replacement) }
}

/// Where a request is being finished right now.
enum FinishingPlace {
    /// On the transport's thread; nothing of the user's runs here, unless declared non-blocking.
    case transport(TransportTurn)
    /// On a queue.
    case queue(DispatchQueue)
}

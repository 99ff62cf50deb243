import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The state of the current attempt.
///
/// Part of a request's state, protected by its lock.
struct Attempt: ~Copyable, Sendable {
    /// The request that is ready to be sent: the application's, with the session's settings
    /// applied.
    ///
    /// Without the changes of layers: those apply to one hop only.
    private(set) var prepared: HTTPRequest?
    /// The last response.
    private(set) var response: HTTPResponse?
    /// Why the request failed.
    private(set) var error: SessionError?
    /// The body of the last response, for requests that collect it; moved into ``outcome`` when
    /// that is made.
    private var body: Data?
    /// The metrics of the attempt's transfers.
    private var measures = TransferMetrics()
    /// Whether the attempt has ended, so that ``measures`` are set.
    private var isMeasured = false
    /// The outcome of the attempt; `nil` until it is used.
    private var outcome: AttemptOutcome?
    /// Whether the current transfer reads a local file.
    private(set) var readsFile = false
    /// How long the redirects of this attempt took, in µs.
    private var redirectDuration: Int64 = 0
    /// The metrics of the previous attempts, in order.
    private var formerMetrics: [TransferMetrics] = []

    /// The body of the last response, for requests that collect it.
    var data: Data? { body ?? outcome?.data }
    /// The metrics of the last attempt that is over.
    var lastMetrics: TransferMetrics? { isMeasured ? measures : formerMetrics.last }
    /// The metrics of all attempts that are over, in order.
    var allMetrics: [TransferMetrics] { isMeasured ? formerMetrics + [measures] : formerMetrics }

    /// Sets what is sent next: the attempt's request, or that of a redirect.
    mutating func prepare(_ request: HTTPRequest) { prepared = request }

    /// The prepared request is passed to a transport.
    ///
    /// - Parameter readsFile: Whether a local file is read instead.
    mutating func beginTransfer(readsFile: Bool) { self.readsFile = readsFile }

    /// Sets the head of the response.
    mutating func receive(_ head: HTTPResponse?) { response = head }

    /// Sets the error of the attempt, unless it has one.
    mutating func fail(_ reason: SessionError) {
        if error == nil { error = reason }
    }

    /// Replaces the error of the attempt; `nil` removes it.
    mutating func overrule(_ reason: SessionError?) { error = reason }

    /// Reports a 416 response to a download that was already complete as 200.
    mutating func acceptEmptyRange() {
        if error == nil { response?.statusCode = 200 }
    }

    /// Adds the duration of a redirect's transfer, in µs.
    mutating func addRedirect(took duration: Int64) { redirectDuration += duration }

    /// Sets the results of the attempt's last transfer.
    ///
    /// - Parameters:
    ///   - measured: The metrics of the transfer.
    ///   - data: The body, for requests that collect it.
    ///   - redirects: How many redirects were followed.
    mutating func conclude(_ measured: TransferMetrics, _ data: consuming Data?, redirects: Int) {
        body = data
        measures = measured
        isMeasured = true
        outcome = nil
        if redirects > 0 || redirectDuration > 0 {
            measures.redirectCount = redirects
            measures.redirectDuration = redirectDuration
        }
    }

    /// The outcome of the attempt, for validators and serializers.
    ///
    /// Made when it is first used, and again after validators or retriers have changed the error.
    /// Not made by ``conclude(_:_:redirects:)``: its memory would be allocated by the transport's
    /// thread and freed by the one that uses it, and the two would contend for the allocator's lock.
    ///
    /// - Parameter request: The last request, as adapted.
    mutating func outcome(of request: HTTPRequest?) -> AttemptOutcome {
        if let outcome, error == nil, outcome.error == nil { return outcome }
        let data = body.take() ?? outcome?.data
        let made =
            isMeasured
            ? AttemptOutcome(
                request: request, response: response, data: data, measures: measures,
                isMeasured: true, error: error)
            : AttemptOutcome(
                request: request, response: response, data: data, metrics: formerMetrics.last,
                error: error)
        outcome = made
        return made
    }

    /// Replaces the outcome with that of the session's middleware.
    mutating func replaceOutcome(_ replacement: AttemptOutcome) {
        response = replacement.response
        error = replacement.error
        body = nil
        isMeasured = false
        if let replaced = replacement.metrics {
            measures = replaced
            isMeasured = true
        }
        outcome = replacement
    }

    /// Resets the state for the next attempt; keeps the metrics.
    mutating func reset() {
        if isMeasured { formerMetrics.append(measures) }
        isMeasured = false
        body = nil
        outcome = nil
        error = nil
        response = nil
        prepared = nil
        readsFile = false
        redirectDuration = 0
    }
}

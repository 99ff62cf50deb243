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
    /// The outcome of the attempt; `nil` until the attempt has ended.
    private(set) var outcome: AttemptOutcome?
    /// Whether the current transfer reads a local file.
    private(set) var readsFile = false
    /// How long the redirects of this attempt took, in µs.
    private var redirectDuration: Int64 = 0
    /// The metrics of the previous attempts, in order.
    private var formerMetrics: [TransferMetrics] = []

    /// The body of the last response, for requests that collect it.
    var data: Data? { outcome?.data }
    /// The metrics of the last attempt that is over.
    var lastMetrics: TransferMetrics? { outcome?.metrics ?? formerMetrics.last }
    /// The metrics of all attempts that are over, in order.
    var allMetrics: [TransferMetrics] {
        outcome?.metrics.map { formerMetrics + [$0] } ?? formerMetrics
    }

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

    /// Sets the outcome after the attempt's last transfer.
    ///
    /// - Parameters:
    ///   - measured: The metrics of the transfer.
    ///   - data: The body, for requests that collect it.
    ///   - request: The last request, as adapted.
    ///   - redirects: How many redirects were followed.
    mutating func conclude(
        _ measured: TransferMetrics, _ data: Data?, of request: HTTPRequest?, redirects: Int
    ) {
        let isRedirected = redirects > 0 || redirectDuration > 0
        outcome = AttemptOutcome(
            request: request, response: response, data: data,
            measures: isRedirected ? redirected(measured, redirects) : measured, error: error)
    }

    /// Replaces the outcome with that of the session's middleware.
    mutating func replaceOutcome(_ replacement: AttemptOutcome) {
        response = replacement.response
        error = replacement.error
        outcome = replacement
    }

    /// Resets the state for the next attempt; keeps the metrics.
    mutating func reset() {
        if let measured = outcome?.metrics { formerMetrics.append(measured) }
        outcome = nil
        error = nil
        response = nil
        prepared = nil
        readsFile = false
        redirectDuration = 0
    }

    private func redirected(_ measured: TransferMetrics, _ count: Int) -> TransferMetrics {
        var measured = measured
        measured.redirectCount = count
        measured.redirectDuration = redirectDuration
        return measured
    }
}

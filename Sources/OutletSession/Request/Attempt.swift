import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What the attempt under way has come to so far.
///
/// Part of a request's state, under its lock.
struct Attempt: ~Copyable, Sendable {
    /// The request that is ready to be sent, as the application and the session's settings make it: what layers
    /// add for one hop is not in it, and so goes along to no other.
    private(set) var prepared: HTTPRequest?
    /// The last response.
    private(set) var response: HTTPResponse?
    /// Why the request failed.
    private(set) var error: SessionError?
    /// What the attempt came to; `nil` until it is over.
    private(set) var outcome: AttemptOutcome?
    /// Whether the transfer under way reads a file of this machine.
    private(set) var readsFile = false
    /// How long the redirects of this attempt took, µs.
    private var redirectDuration: Int64 = 0
    /// The measures of the attempts before, in order.
    private var formerMetrics: [TransferMetrics] = []

    /// The body of the last response, kinds that collect it only.
    var data: Data? { outcome?.data }
    /// The measures of the last attempt that is over.
    var lastMetrics: TransferMetrics? { outcome?.metrics ?? formerMetrics.last }
    /// The measures of all attempts, in order.
    var allMetrics: [TransferMetrics] {
        outcome?.metrics.map { formerMetrics + [$0] } ?? formerMetrics
    }

    /// Takes what is to be sent next: the attempt's request, or a redirect's.
    mutating func prepare(_ request: HTTPRequest) { prepared = request }

    /// The prepared request goes to a transport.
    ///
    /// - Parameter readsFile: Whether it is a file of this machine that answers.
    mutating func beginTransfer(readsFile: Bool) { self.readsFile = readsFile }

    /// Takes a response's head.
    mutating func receive(_ head: HTTPResponse?) { response = head }

    /// Notes why the attempt fails; the first reason counts.
    mutating func fail(_ reason: SessionError) {
        if error == nil { error = reason }
    }

    /// Replaces the reason by another, or by none.
    mutating func overrule(_ reason: SessionError?) { error = reason }

    /// A range that was asked for had nothing left in it: the answer to the whole request.
    mutating func acceptEmptyRange() {
        if error == nil { response?.statusCode = 200 }
    }

    /// A redirect's transfer is over, and took so long, µs.
    mutating func addRedirect(took duration: Int64) { redirectDuration += duration }

    /// The last transfer is over.
    ///
    /// - Parameters:
    ///   - data: Its body, of kinds that collect it.
    ///   - request: What was sent.
    ///   - redirects: How many redirects have led there.
    mutating func conclude(
        _ measured: TransferMetrics, _ data: Data?, of request: HTTPRequest?, redirects: Int
    ) {
        let isRedirected = redirects > 0 || redirectDuration > 0
        outcome = AttemptOutcome(
            request: request, response: response, data: data,
            measures: isRedirected ? redirected(measured, redirects) : measured, error: error)
    }

    /// Takes what somebody else has made of the call.
    mutating func replaceOutcome(_ facts: AttemptOutcome) {
        response = facts.response
        error = facts.error
        outcome = facts
    }

    /// Forgets the attempt, all but its measures.
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

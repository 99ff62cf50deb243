import FoundationEssentials
import OutletHTTP
import OutletTransport

extension Request {
    /// Everything that changes.
    struct Mutable: ~Copyable, Sendable {
        var machine = RequestMachine()
        /// The requests and transfers of all attempts.
        var history = AttemptHistory()
        /// The transfer that was told to end, be it at once or in order.
        var endingTask: UInt64?
        /// What the last attempt came to; `nil` until it is over.
        var outcome: AttemptFacts?
        /// The measures of the attempts before, in order.
        var formerMetrics: [TransferMetrics] = []
        /// The last response.
        var response: HTTPResponse?
        /// Why the request failed.
        var error: SessionError?
        /// Whether the transfer under way reads a file of this machine.
        var readsFile = false
        /// How long the redirects of this attempt took, µs.
        var redirectDuration: Int64 = 0
        /// Who wants the response.
        var handlers = HandlerQueue()
        /// The request that is ready to be sent, as the application and the session's settings make it: what layers
        /// add for one hop is not in it, and so goes along to no other.
        var prepared: HTTPRequest?
        var dataValidators = InlineFirst<DataRequest.Validator>()
        /// Who else watches; most requests have nobody.
        var observers: RequestObservers?
        /// The request's own; boxed, because an empty place for one is copied and cleared by way of its
        /// type's table.
        var interceptor: Boxed<any RequestInterceptor>?
        /// What this request has of its own besides; most have nothing.
        var specials: RequestSpecials?

        /// The body of the last response, kinds that collect it only.
        var data: Data? { outcome?.data }
        /// The measures of the last attempt that is over.
        var lastMetrics: TransferMetrics? { outcome?.metrics ?? formerMetrics.last }
        /// The measures of all attempts, in order.
        var allMetrics: [TransferMetrics] {
            outcome?.metrics.map { formerMetrics + [$0] } ?? formerMetrics
        }

        /// Takes what an attempt has come to, with the redirects that led there.
        mutating func note(_ measured: TransferMetrics, _ data: Data?) {
            outcome = AttemptFacts(
                request: history.requests.last, response: response, data: data,
                measures: machine.redirects > 0 || redirectDuration > 0
                    ? redirected(measured) : measured,
                error: error)
        }

        private func redirected(_ measured: TransferMetrics) -> TransferMetrics {
            var measured = measured
            measured.redirectCount = machine.redirects
            measured.redirectDuration = redirectDuration
            return measured
        }

        /// Forgets what an attempt has come to, all but its measures.
        mutating func forgetOutcome() {
            if let measured = outcome?.metrics { formerMetrics.append(measured) }
            outcome = nil
        }
    }
}

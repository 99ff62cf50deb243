import FoundationEssentials
import OutletHTTP

extension Request {
    /// Everything that changes.
    struct Mutable: Sendable {
        var machine = RequestMachine()
        /// The requests of all attempts, before and after adaptation, in order.
        var requests = InlineFirst<HTTPRequest>()
        /// What went on the wire, in order.
        var performedRequests = InlineFirst<HTTPRequest>()
        /// The transfers of all attempts, of redirects the last, in order.
        var tasks = InlineFirst<any TransferTask>()
        /// Whether the last of ``tasks`` stands for a transfer that nobody has asked to run yet.
        var isTaskAhead = false
        /// The transfer that was told to end, be it at once or in order.
        var endingTask: UInt64?
        /// The attempt whose transfer is the last of ``tasks``.
        var begunAttempt = 0
        /// The measures of all attempts, in order.
        var metrics = InlineFirst<TransferMetrics>()
        /// The last response.
        var response: HTTPResponse?
        /// Why the request failed.
        var error: SessionError?
        /// How many redirects this attempt has followed.
        var redirects = 0
        /// Whether the transfer under way goes on with the one before, after a redirect for instance.
        var isHop = false
        /// Whether the transfer under way reads a file of this machine.
        var readsFile = false
        /// How long those redirects took, µs.
        var redirectDuration: Int64 = 0
        /// Challenges that were answered in this attempt.
        var answeredChallenges: UInt8 = 0
        /// Those that have not had their values delivered.
        var responseHandlers = InlineFirst<ResponseHandler>()
        /// The next of ``responseHandlers`` to serialize.
        var nextHandler = 0
        /// What the serializers that are done want delivered.
        var deliveries = InlineFirst<Delivery>()
        /// The request that is ready to be sent.
        var prepared: HTTPRequest?
        /// The body of the last response, kinds that collect it only.
        var data: Data?
        var dataValidators = InlineFirst<DataRequest.Validator>()
        /// Who else watches; most requests have nobody.
        var observers: RequestObservers?
        var interceptor: (any RequestInterceptor)?
        /// What this request has of its own besides; most have nothing.
        var specials: RequestSpecials?
        /// Why the transfer waits besides the user's own suspending.
        var holds: TransferHolds = []
        /// Whether another request's result was taken as this one's.
        var sharesResult = false
    }
}

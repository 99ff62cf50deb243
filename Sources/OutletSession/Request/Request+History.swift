public import OutletHTTP
public import OutletTransport

/// The requests, transfers, metrics and results of all attempts.
extension Request {
    /// The requests of all attempts, before and after adaptation, in order.
    public var requests: [HTTPRequest] { mutable.withLock { $0.history.requests } }
    /// The first request that was made; `nil` before.
    public var firstRequest: HTTPRequest? { mutable.withLock { $0.history.firstRequest } }
    /// The last request that was made, as adapted; `nil` before the first.
    public var lastRequest: HTTPRequest? { mutable.withLock { $0.history.lastRequest } }
    /// Same as ``lastRequest``.
    public var request: HTTPRequest? { lastRequest }
    /// The requests that were sent, in order: with the session's fields, redirects included.
    public var performedRequests: [HTTPRequest] {
        mutable.withLock { $0.history.performedRequests.array }
    }
    /// The transfers of all attempts, in order; of an attempt with redirects, the last one.
    public var tasks: [any TransferTask] { mutable.withLock { $0.history.tasks.array } }
    /// The first transfer; `nil` before it is started.
    public var firstTask: (any TransferTask)? { mutable.withLock { $0.history.tasks.first } }
    /// The last transfer; `nil` before the first is started.
    public var lastTask: (any TransferTask)? { mutable.withLock { $0.history.tasks.last } }
    /// Same as ``lastTask``.
    public var task: (any TransferTask)? { lastTask }
    /// The metrics of all attempts that are over, in order.
    public var allMetrics: [TransferMetrics] { mutable.withLock { $0.attempt.allMetrics } }
    /// The metrics of the first attempt; `nil` until it is over.
    public var firstMetrics: TransferMetrics? { mutable.withLock { $0.attempt.allMetrics.first } }
    /// The metrics of the last attempt that is over; `nil` before.
    public var lastMetrics: TransferMetrics? { mutable.withLock { $0.attempt.lastMetrics } }
    /// Same as ``lastMetrics``.
    public var metrics: TransferMetrics? { lastMetrics }
    /// The head of the last response; `nil` before it arrives.
    public var response: HTTPResponse? { mutable.withLock { $0.attempt.response } }
    /// Why the request, or its current attempt, has failed; `nil` if it has not.
    public var error: SessionError? { mutable.withLock { $0.attempt.error } }
    /// How often the request was retried.
    public var retryCount: Int { mutable.withLock { $0.machine.retryCount } }
}

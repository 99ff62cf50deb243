public import OutletHTTP
public import OutletTransport

/// What became of a request, attempt by attempt.
extension Request {
    /// The requests of all attempts, before and after adaptation, in order.
    public var requests: [HTTPRequest] { mutable.withLock { $0.history.requests.array } }
    /// The first request that was made.
    public var firstRequest: HTTPRequest? { mutable.withLock { $0.history.requests.first } }
    /// The last request that was made.
    public var lastRequest: HTTPRequest? { mutable.withLock { $0.history.requests.last } }
    /// Same as ``lastRequest``.
    public var request: HTTPRequest? { lastRequest }
    /// What went on the wire, in order: session's fields included, redirects too.
    public var performedRequests: [HTTPRequest] {
        mutable.withLock { $0.history.performedRequests.array }
    }
    /// The transfers of all attempts, of redirects the last, in order.
    public var tasks: [any TransferTask] { mutable.withLock { $0.history.tasks.array } }
    /// The first transfer.
    public var firstTask: (any TransferTask)? { mutable.withLock { $0.history.tasks.first } }
    /// The last transfer.
    public var lastTask: (any TransferTask)? { mutable.withLock { $0.history.tasks.last } }
    /// Same as ``lastTask``.
    public var task: (any TransferTask)? { lastTask }
    /// The measures of all attempts, in order.
    public var allMetrics: [TransferMetrics] { mutable.withLock { $0.attempt.allMetrics } }
    /// The measures of the first attempt.
    public var firstMetrics: TransferMetrics? { mutable.withLock { $0.attempt.allMetrics.first } }
    /// The measures of the last attempt.
    public var lastMetrics: TransferMetrics? { mutable.withLock { $0.attempt.lastMetrics } }
    /// Same as ``lastMetrics``.
    public var metrics: TransferMetrics? { lastMetrics }
    /// The last response's head.
    public var response: HTTPResponse? { mutable.withLock { $0.attempt.response } }
    /// Why the request failed, so far as known.
    public var error: SessionError? { mutable.withLock { $0.attempt.error } }
    /// How often the request was tried again.
    public var retryCount: Int { mutable.withLock { $0.machine.retryCount } }
}

import OutletHTTP
import OutletTransport

/// The requests and transfers of all attempts.
///
/// Part of a request's state, protected by its lock.
struct AttemptHistory: ~Copyable, Sendable {
    /// The first of ``requests``.
    private(set) var firstRequest: HTTPRequest?
    /// The others; most requests with an adapter have one, which needs no allocation.
    private var laterRequests = InlineFirst<HTTPRequest>()
    /// The requests that were sent, in order.
    private(set) var performedRequests = InlineFirst<HTTPRequest>()
    /// Whether layers may change the last of ``performedRequests`` before it is sent; some decide
    /// about it later than the transfer begins.
    private var layersMayChange = false
    /// The identifier of the last of ``tasks``; `nil` without one, and for a placeholder.
    private var lastTask: UInt64?
    /// The identifier of the transfer before the current one, which may be noted again late; `nil`
    /// without one.
    private var formerTask: UInt64?
    /// The transfers of all attempts, in order; of several hops, the last one only.
    private(set) var tasks = InlineFirst<any TransferTask>()
    /// Whether the last of ``tasks`` is a placeholder for a transfer that has not been started.
    private(set) var isTaskAhead = false
    /// The attempt that the last of ``tasks`` belongs to.
    private var begunAttempt = 0
    /// Whether the current transfer continues the previous one, after a redirect for instance.
    private var isHop = false

    /// The requests of all attempts, before and after adaptation, in order.
    var requests: [HTTPRequest] { [firstRequest].compactMap(\.self) + laterRequests.array }
    /// The last of ``requests``.
    var lastRequest: HTTPRequest? { laterRequests.last ?? firstRequest }

    /// Adds a request that was made or adapted.
    mutating func add(_ request: HTTPRequest) {
        if firstRequest == nil { firstRequest = request } else { laterRequests.append(request) }
    }

    /// Adds a request that is about to be sent.
    ///
    /// - Parameter mayChange: Whether layers may change it.
    mutating func addPerformed(_ request: HTTPRequest, mayChange: Bool) {
        performedRequests.append(request)
        layersMayChange = mayChange
    }

    /// A transfer is about to start.
    ///
    /// - Parameters:
    ///   - isHop: Whether it continues the previous transfer, after a redirect for instance.
    ///   - mayChange: Whether layers may change the request.
    mutating func beginTransfer(of request: HTTPRequest, isHop: Bool, mayChange: Bool) {
        self.isHop = isHop
        if !isTaskAhead { formerTask = lastTask }
        addPerformed(request, mayChange: mayChange)
    }

    /// Adds a placeholder for a transfer that has not been started.
    mutating func addAhead(_ task: any TransferTask, attempt: Int) {
        isTaskAhead = true
        lastTask = nil
        tasks.append(task)
        begunAttempt = attempt
    }

    /// Adds a transfer; called again for the same one, because it may end before the call that
    /// started it returns.
    ///
    /// - Returns: Whether the transfer is new, and has to be reported to monitors and observers;
    ///   `false` for another hop of a transfer that was reported.
    mutating func note(_ task: any TransferTask, attempt: Int) -> Bool {
        noteWireRequest(of: task)
        guard isNew(task) else { return false }
        begunAttempt = attempt
        return true
    }

    /// The transfer of an attempt; `nil` if it has none yet.
    func task(of attempt: Int) -> (any TransferTask)? {
        begunAttempt == attempt ? tasks.last : nil
    }

    private mutating func isNew(_ task: any TransferTask) -> Bool {
        if let lastTask, task.identifier <= lastTask { return false }
        let isFirst = lastTask == nil
        lastTask = task.identifier
        if isTaskAhead || isHop && !isFirst { tasks.replaceLast(task) } else { tasks.append(task) }
        isTaskAhead = false
        return isFirst || !isHop
    }

    /// Replaces the last of ``performedRequests`` with the request that the layers have sent.
    private mutating func noteWireRequest(of task: any TransferTask) {
        guard layersMayChange, formerTask.map({ task.identifier > $0 }) ?? true else { return }
        if let request = task.currentRequest { performedRequests.replaceLast(request) }
    }
}

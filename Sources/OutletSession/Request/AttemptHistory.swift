import OutletHTTP
import OutletTransport

/// What a request was made into, and what carried it, attempt by attempt.
///
/// Part of a request's state, under its lock.
struct AttemptHistory: ~Copyable, Sendable {
    /// The requests of all attempts, before and after adaptation, in order.
    private(set) var requests = InlineFirst<HTTPRequest>()
    /// What went on the wire, in order.
    private(set) var performedRequests = InlineFirst<HTTPRequest>()
    /// Whether the last of ``performedRequests`` may not be what its transfer has sent.
    private var awaitsWireRequest = false
    /// The transfers of all attempts, of redirects the last, in order.
    private(set) var tasks = InlineFirst<any TransferTask>()
    /// Whether the last of ``tasks`` stands for a transfer that nobody has asked to run yet.
    private(set) var isTaskAhead = false
    /// The attempt whose transfer is the last of ``tasks``.
    private var begunAttempt = 0
    /// Whether the transfer under way goes on with the one before, after a redirect for instance.
    private var isHop = false

    /// Notes a request that was made, or what an adapter made of it.
    mutating func add(_ request: HTTPRequest) { requests.append(request) }

    /// Notes a request that is about to go on the wire.
    ///
    /// - Parameter mayChange: Whether the layers below may send another one.
    mutating func addPerformed(_ request: HTTPRequest, mayChange: Bool) {
        performedRequests.append(request)
        awaitsWireRequest = mayChange
    }

    /// A transfer is about to begin.
    ///
    /// - Parameter isHop: Whether it goes on with the one before.
    mutating func beginTransfer(of request: HTTPRequest, isHop: Bool, mayChange: Bool) {
        self.isHop = isHop
        addPerformed(request, mayChange: mayChange)
    }

    /// Keeps what stands for a transfer until somebody asks it to run.
    mutating func addAhead(_ task: any TransferTask, attempt: Int) {
        isTaskAhead = true
        tasks.append(task)
        begunAttempt = attempt
    }

    /// Adds a transfer; it may have ended before the call that started it returns.
    ///
    /// - Returns: Whether it has to be told of: not if it was already, nor as a part of one that was.
    mutating func note(_ task: any TransferTask, attempt: Int) -> Bool {
        noteWireRequest(of: task)
        guard isNew(task) else { return false }
        begunAttempt = attempt
        return true
    }

    /// The transfer of an attempt, once it is known.
    func task(of attempt: Int) -> (any TransferTask)? {
        begunAttempt == attempt ? tasks.last : nil
    }

    private mutating func isNew(_ task: any TransferTask) -> Bool {
        if isTaskAhead {
            isTaskAhead = false
            tasks.replaceLast(task)
            return true
        }
        guard let last = tasks.last else {
            tasks.append(task)
            return true
        }
        guard last !== task, last.identifier < task.identifier else { return false }
        if isHop { tasks.replaceLast(task) } else { tasks.append(task) }
        return !isHop
    }

    /// What the layers have made of the request.
    private mutating func noteWireRequest(of task: any TransferTask) {
        guard awaitsWireRequest else { return }
        awaitsWireRequest = false
        if let request = task.currentRequest { performedRequests.replaceLast(request) }
    }
}

import OutletHTTP
import OutletTransport

/// The active transfer of a task that makes several transfers, one after the other.
///
/// Thread: any. Transports are called outside the lock.
final class InnerTransfer: Sendable {
    private struct State: Sendable {
        var task: (any TransferTask)?
        /// Whether a transfer has begun and has not ended; `task` may still be `nil`.
        var isActive = false
        /// Generation counter of the transfers.
        var number = 0
        var isCancelled = false
        var isSuspended = false
        var reportsProgress: Bool
        /// The properties of the last transfer that has ended.
        var last: Properties
    }

    /// Properties of a transfer that are also read after its end.
    private struct Properties: Sendable {
        var currentRequest: HTTPRequest?
        var proxy = ""
        var isServerVerified = true
        var source = ResponseSource.network
    }
    private let course: Lock<State>
    private let visible = VisibleState()

    /// The state in which a new transfer has to start.
    struct InitialState {
        let reportsProgress: Bool
        let isSuspended: Bool
    }

    /// Makes the state of a task without a transfer.
    ///
    /// - Parameters:
    ///   - request: The task's request.
    ///   - reportsProgress: Whether the handler wants progress.
    init(_ request: HTTPRequest, reportsProgress: Bool) {
        course = Lock(
            State(
                reportsProgress: reportsProgress, last: Properties(currentRequest: request)))
    }

    /// The state of the whole task.
    var state: TransferState { visible.state }

    /// The active transfer; `nil` until it is known.
    private var task: (any TransferTask)? { course.withLock { $0.task } }

    /// The active WebSocket; `nil` until it is known.
    var connection: (any WebSocketConnection)? { task as? any WebSocketConnection }

    // MARK: Properties of the active transfer, or of the last one

    /// The request as sent; the task's own before the first transfer.
    var currentRequest: HTTPRequest? {
        task?.currentRequest ?? course.withLock { $0.last.currentRequest }
    }
    var proxy: String { task?.proxy ?? course.withLock { $0.last.proxy } }
    var isServerVerified: Bool {
        task?.isServerVerified ?? course.withLock { $0.last.isServerVerified }
    }
    var source: ResponseSource { task?.source ?? course.withLock { $0.last.source } }
    /// The number of credentials that the active transfer has sent; 0 without one.
    var credentialsSent: Int { task?.credentialsSent ?? 0 }

    // MARK: Transfers

    /// Begins a transfer, unless the task was cancelled.
    ///
    /// - Parameter start: Starts the transfer in the given state.
    /// - Returns: Whether a transfer has begun.
    func begin(_ start: (InitialState) -> any TransferTask) -> Bool {
        let begun = course.withLock { state -> (number: Int, initial: InitialState)? in
            guard !state.isCancelled else { return nil }
            state.task = nil
            state.isActive = true
            state.number += 1
            return (
                state.number,
                InitialState(reportsProgress: state.reportsProgress, isSuspended: state.isSuspended)
            )
        }
        guard let begun else { return false }
        let task = start(begun.initial)
        // Calls made while the transfer was being started had no transfer to act on.
        let (isCancelled, isSuspended, reportsProgress) = course.withLock { state in
            // The transfer may have ended, and another one may have begun.
            if state.isActive, state.number == begun.number { state.task = task }
            return (state.isCancelled, state.isSuspended, state.reportsProgress)
        }
        if reportsProgress, !begun.initial.reportsProgress { task.reportProgress() }
        if isCancelled {
            task.cancel()
        } else if isSuspended || begun.initial.isSuspended {
            settle(task)
        }
        return true
    }

    /// Brings a transfer into the wanted state, suspended or running.
    ///
    /// Loops until the wanted state is unchanged after the call: a concurrent `suspend()` and
    /// `resume()` may reach the transfer in the wrong order.
    private func settle(_ task: any TransferTask) {
        var done: Bool?
        while true {
            let isSuspended = course.withLock { $0.isSuspended }
            guard done != isSuspended else { return }
            if isSuspended { task.suspend() } else { task.resume() }
            done = isSuspended
        }
    }

    /// Stores a transfer that calls its handler before `start` has returned it.
    func note(_ task: any TransferTask) {
        course.withLock { if $0.isActive { $0.task = task } }
    }

    /// Stores a transfer that waits for a decision, and brings it into the wanted state before.
    func control(_ task: any TransferTask) {
        let (isCancelled, isSuspended) = course.withLock { state in
            if state.isActive { state.task = task }
            return (state.isCancelled, state.isSuspended)
        }
        if isCancelled { task.cancel() } else if isSuspended { settle(task) }
    }

    /// Records that the transfer has ended.
    func end(_ task: any TransferTask) {
        let (request, proxy) = (task.currentRequest, task.proxy)
        let (isVerified, source) = (task.isServerVerified, task.source)
        course.withLock { state in
            state.task = nil
            state.isActive = false
            state.last.currentRequest = request ?? state.last.currentRequest
            state.last.proxy = proxy
            state.last.isServerVerified = isVerified
            state.last.source = source
        }
    }

    /// Records that the whole task has ended.
    func complete() { visible.complete() }

    /// Cancels the active transfer, and prevents further ones.
    ///
    /// - Returns: Whether no transfer is active; then the caller has to report the end.
    func cancel() -> Bool {
        visible.change(to: .canceling)
        let (task, isActive) = course.withLock { state in
            state.isCancelled = true
            return (state.task, state.isActive)
        }
        task?.cancel()
        return !isActive
    }

    func suspend() {
        visible.change(to: .suspended)
        let task = course.withLock { state in
            state.isSuspended = true
            return state.task
        }
        if let task { settle(task) }
    }

    func resume() {
        visible.change(to: .running)
        let task = course.withLock { state in
            state.isSuspended = false
            return state.task
        }
        if let task { settle(task) }
    }

    func reportProgress() {
        let task = course.withLock { state in
            state.reportsProgress = true
            return state.task
        }
        task?.reportProgress()
    }
}

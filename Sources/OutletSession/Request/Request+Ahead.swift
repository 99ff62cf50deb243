import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Setup before the first `resume()`, for ``Session/RequestSetup/eager``.
extension Request {
    /// Makes the request ready without starting it.
    func setUpAhead() {
        perform(mutable.withLock { $0.machine.setUpAhead() })
    }

    /// Reports a placeholder for the transfer of a request that is ready and waits for `resume()`.
    func announceAhead(_ request: HTTPRequest, attempt: Int) {
        let task = AheadTask(of: self, sending: request)
        let channel = mutable.withLock {
            mutable -> RequestObservers.Channel<any TransferTask>? in
            guard mutable.machine.isCurrent(attempt, in: .ready), !mutable.history.isTaskAhead
            else {
                return nil
            }
            mutable.history.addAhead(task, attempt: attempt)
            // Under the lock, so that no later event comes first.
            let monitors = monitors(mutable)
            monitors?.observe(.didCreateTask(task), of: self)
            if mutable.machine.state == .suspended {
                monitors?.observe(.didSuspendTask(task), of: self)
            }
            return mutable.observers?.task
        }
        if let channel { core.notify(channel, task) }
    }
}

/// A placeholder for a transfer until its request is resumed; forwards its methods to the request.
private final class AheadTask: TransferTask {
    private struct Owner: Sendable { weak var request: Request? }

    /// Lower than the identifiers of all transfers.
    let identifier: UInt64 = 0
    let currentRequest: HTTPRequest?
    private let owner: Lock<Owner>

    init(of request: Request, sending currentRequest: HTTPRequest) {
        self.currentRequest = currentRequest
        owner = Lock(Owner(request: request))
    }

    private var request: Request? { owner.withLock { $0.request } }

    var state: TransferState {
        switch request?.state {
        case .initialized, .suspended: .suspended
        case .resumed: .running
        case .cancelled: .canceling
        case .finished, nil: .completed
        }
    }

    func cancel() { request?.cancel() }
    func suspend() { request?.suspend() }
    func resume() { request?.resume() }
}

import OutletHTTP
import OutletTransport

extension DataRequest {
    /// Lets the request share the transfer of an equal one, or not, whatever the session's setting.
    ///
    /// Ask before the start; see ``SessionConfiguration/coalescesRequests``.
    @discardableResult
    public func coalesces(_ coalesces: Bool = true) -> Self {
        mutable.withLock { $0.coalesces = coalesces }
        return self
    }
}

/// The transfers that requests of a session share, by what the requests have in common.
final class Flights: Sendable {
    private let flights = Lock<[CoalescingKey: Flight]>([:])

    /// Joins the transfer of an equal request, or begins one that others may join.
    func start(
        _ job: TransferJob, key: CoalescingKey, for request: Request
    ) -> any TransferTask {
        while true {
            let flight = flights.withLock { flights -> Flight in
                if let flight = flights[key] { return flight }
                let flight = Flight(core: request.core) { [weak self] flight in
                    self?.remove(flight, key)
                }
                flights[key] = flight
                return flight
            }
            let member = Flight.Member(
                request: request, task: SharedTask(flight: flight, request: job.request), job: job)
            request.mutable.withLock { $0.flight = flight }
            switch flight.join(member) {
            case .tooLate: remove(flight, key)
            case .waits: return member.task
            case .leads:
                flight.start(job)
                return member.task
            }
        }
    }

    private func remove(_ flight: Flight, _ key: CoalescingKey) {
        flights.withLock { flights in
            if flights[key] === flight { flights[key] = nil }
        }
    }
}

extension Request.Mutable {
    /// What the transfer that is about to begin may be shared with.
    ///
    /// Mutating, because a copy of all that changes would be made otherwise, on every request's way.
    mutating func sharing(_ core: SessionCore) -> Sharing {
        if let flight { return .flight(flight) }
        guard coalesces ?? core.configuration.coalescesRequests, !isHop,
            // Whoever decides about heads or redirects of his own cannot leave that to another.
            redirectHandler == nil, observers?.response == nil
        else { return .none }
        return .anybody
    }

    /// Whom a transfer may be shared with.
    enum Sharing {
        case none
        case anybody
        case flight(Flight)
    }
}

extension Request {
    /// Begins a transfer, or shares that of an equal request.
    func start(_ job: TransferJob, sharing: Mutable.Sharing) -> any TransferTask {
        switch sharing {
        case .none: break
        case .flight(let flight):
            // A leader's redirects and retries are those of all.
            if let task = flight.begin(job, for: self) { return task }
        case .anybody:
            guard self is DataRequest, !(self is UploadRequest),
                let key = CoalescingKey(job, interceptor: interceptor)
            else { break }
            return core.flights.start(job, key: key, for: self)
        }
        return isPlain ? core.stack.start(job, handler: self) : begin(job)
    }

    /// The request has come to its end: those who share its transfer get the same.
    func leave(_ flight: Flight) {
        let (outcome, isCancelled) = mutable.withLock { mutable in
            mutable.flight = nil
            var result = TransferResult(response: mutable.response, body: mutable.data)
            result.metrics = mutable.lastMetrics ?? TransferMetrics()
            return (
                Flight.Outcome(result: result, error: mutable.error),
                mutable.machine.state == .cancelled
            )
        }
        flight.leave(self, outcome, isCancelled: isCancelled)
    }

    /// Ends the request as cancelled; the transfer is the others' from now on.
    func depart(from task: SharedTask) {
        task.complete()
        mutable.withLock { $0.sharesResult = true }
        conclude(task, TransferResult(error: .cancelled), turn: nil)
    }

    /// Takes what the leader has come to as this request's own; its validators judge it, its
    /// retriers are not asked again.
    func share(_ outcome: Flight.Outcome, of task: SharedTask) {
        task.complete()
        let isCurrent = mutable.withLock { mutable in
            guard mutable.machine.phase == .transferring else { return false }
            mutable.sharesResult = true
            mutable.redirects = outcome.result.metrics.redirectCount
            mutable.redirectDuration = outcome.result.metrics.redirectDuration
            // Validators differ from request to request.
            if let error = outcome.error, !error.isResponseValidationError, mutable.error == nil {
                mutable.error = error
            }
            return true
        }
        guard isCurrent else { return }
        conclude(task, outcome.result, turn: nil)
    }
}

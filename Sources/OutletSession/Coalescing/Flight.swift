import OutletHTTP

/// Equal requests that share what one of them, the leader, brings: its transfers, its redirects, its
/// retries, and its final result.
///
/// Whoever is cancelled leaves alone; of a leader's place and its transfer the next one takes over.
///
/// Thread: any. Requests and transports are called outside the lock.
final class Flight: TransferHandler {
    /// One of the requests, and the job it came with.
    struct Member: Sendable {
        let request: Request
        let task: SharedTask
        let job: TransferJob
        var isSuspended = false
    }

    fileprivate struct State: Sendable {
        var leader: Member?
        var followers: [Member] = []
        /// The leader's transfer under way.
        var transfer: (any TransferTask)?
        /// Whether a transfer is under way, known here or not yet.
        var isTransferring = false
        /// What was decided while the transfer was being begun.
        var isCancelWanted = false
        var isSuspended = false
        var wantsProgress = false
        /// What the leader came to, kept for those who are suspended.
        var outcome: Outcome?
        var isOver = false
    }

    /// What a request has come to in the end.
    struct Outcome: Sendable {
        let result: TransferResult
        let error: SessionError?
    }

    private let state = Lock(State())
    private let transport: any Transport
    private let onEnd: @Sendable (Flight) -> Void

    /// - Parameter onEnd: Called when no more may join, once.
    init(transport: any Transport, onEnd: @escaping @Sendable (Flight) -> Void) {
        self.transport = transport
        self.onEnd = onEnd
    }

    // MARK: Coming

    /// Adds a request that waits for the leader; the first is the leader itself.
    ///
    /// - Returns: Whether it was not too late.
    func join(_ member: Member) -> (isIn: Bool, leads: Bool) {
        let (answer, running) = state.withLock { state in
            guard !state.isOver else {
                return ((isIn: false, leads: false), nil as (any TransferTask)?)
            }
            guard state.leader != nil else {
                state.leader = member
                return ((isIn: true, leads: true), nil)
            }
            state.followers.append(member)
            guard member.job.reportsProgress else { return ((isIn: true, leads: false), nil) }
            state.wantsProgress = true
            return ((isIn: true, leads: false), state.transfer)
        }
        running?.reportProgress()
        return answer
    }

    /// Begins the leader's next transfer.
    ///
    /// - Returns: What stands for it; `nil` when the request does not lead.
    func begin(_ job: TransferJob, for request: Request) -> SharedTask? {
        let member = Member(request: request, task: SharedTask(flight: self), job: job)
        let leads = state.withLock { state in
            guard !state.isOver, state.leader?.request === request else { return false }
            state.leader = member
            return true
        }
        guard leads else { return nil }
        start(job)
        return member.task
    }

    /// Begins a transfer for whoever leads.
    func start(_ job: TransferJob) {
        var job = job
        state.withLock { state in
            state.isTransferring = true
            state.isCancelWanted = false
            state.isSuspended = false
            job.reportsProgress = job.reportsProgress || state.wantsProgress
        }
        let transfer = transport.start(job, handler: self)
        let (cancels, suspends) = state.withLock { state in
            // It may be over already.
            if state.isTransferring { state.transfer = transfer }
            return (state.isCancelWanted, state.isSuspended)
        }
        if cancels { transfer.cancel() }
        if suspends { transfer.suspend() }
    }

    // MARK: What the transport tells

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        guard let leader = state.withLock({ $0.leader }) else { return .cancel }
        return leader.request.transfer(leader.task, didReceive: head, turn: turn)
    }

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        guard let leader = state.withLock({ $0.leader }) else { return .cancel }
        return leader.request.transfer(leader.task, didReceive: chunk, turn: turn)
    }

    func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        let members = state.withLock { state in
            (state.leader.map { [$0] } ?? []) + state.followers
        }
        for member in members {
            member.request.transfer(member.task, didProgress: progress, turn: turn)
        }
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        let leader = state.withLock { state in
            state.isTransferring = false
            state.transfer = nil
            return state.leader
        }
        guard let leader else { return }
        leader.request.transferDidFinish(leader.task, result: result, turn: turn)
    }

    // MARK: Going

    /// What a request's leaving asks for.
    private enum Departure {
        case nothing
        /// The last one is gone.
        case cancel(any TransferTask)
        /// The next one needs a transfer of its own.
        case start(Member)
    }

    /// A request's transfer is cancelled: it goes alone.
    func cancel(_ task: SharedTask) {
        let (member, departure) = state.withLock { state -> (Member?, Departure) in
            if let index = state.followers.firstIndex(where: { $0.task === task }) {
                return (state.followers.remove(at: index), .nothing)
            }
            guard let leader = state.leader, leader.task === task else { return (nil, .nothing) }
            guard let next = state.takeNext() else {
                // The transport tells the leader.
                state.isCancelWanted = true
                return (nil, state.transfer.map(Departure.cancel) ?? .nothing)
            }
            state.leader = next
            return (leader, state.isTransferring ? .nothing : .start(next))
        }
        perform(departure)
        member?.request.depart(from: task)
    }

    /// A request is over, whatever it has come to; what a leader has come to holds for all.
    func leave(_ request: Request, _ outcome: Outcome, isCancelled: Bool) {
        let (ending, departure, isOver) = state.withLock { state -> ([Member], Departure, Bool) in
            state.followers.removeAll { $0.request === request }
            guard state.leader?.request === request else { return ([], .nothing, false) }
            if isCancelled, let next = state.takeNext() {
                state.leader = next
                return ([], state.isTransferring ? .nothing : .start(next), false)
            }
            state.leader = nil
            state.isOver = true
            state.outcome = outcome
            let ending = state.followers.filter { !$0.isSuspended }
            state.followers.removeAll { !$0.isSuspended }
            return (ending, .nothing, true)
        }
        perform(departure)
        if isOver { onEnd(self) }
        for member in ending { member.request.share(outcome, of: member.task) }
    }

    private func perform(_ departure: Departure) {
        switch departure {
        case .nothing: break
        case .cancel(let transfer): transfer.cancel()
        case .start(let member): start(member.job)
        }
    }

    // MARK: Waiting

    /// A request waits; the transfer only if all do.
    func suspend(_ task: SharedTask) {
        let transfer = state.withLock { state -> (any TransferTask)? in
            if let index = state.followers.firstIndex(where: { $0.task === task }) {
                state.followers[index].isSuspended = true
                return nil
            }
            guard var leader = state.leader, leader.task === task else { return nil }
            leader.isSuspended = true
            state.leader = leader
            // Between two transfers the leader's place cannot change hands.
            if state.isTransferring,
                let index = state.followers.firstIndex(where: { !$0.isSuspended })
            {
                state.leader = state.followers.remove(at: index)
                state.followers.append(leader)
                return nil
            }
            state.isSuspended = true
            return state.transfer
        }
        transfer?.suspend()
    }

    /// A request goes on, and gets what has come meanwhile.
    func resume(_ task: SharedTask) {
        let (transfer, member, outcome) = state.withLock {
            state -> ((any TransferTask)?, Member?, Outcome?) in
            if state.leader?.task === task {
                state.leader?.isSuspended = false
                state.isSuspended = false
                return (state.transfer, nil, nil)
            }
            guard let index = state.followers.firstIndex(where: { $0.task === task }) else {
                return (nil, nil, nil)
            }
            state.followers[index].isSuspended = false
            if let outcome = state.outcome {
                return (nil, state.followers.remove(at: index), outcome)
            }
            guard state.isTransferring, state.isSuspended, let leader = state.leader else {
                return (nil, nil, nil)
            }
            state.leader = state.followers.remove(at: index)
            state.followers.append(leader)
            state.isSuspended = false
            return (state.transfer, nil, nil)
        }
        transfer?.resume()
        if let member, let outcome { member.request.share(outcome, of: task) }
    }

    /// Somebody wants to know how far the transfer has come.
    func reportProgress() {
        let transfer = state.withLock { state in
            state.wantsProgress = true
            return state.transfer
        }
        transfer?.reportProgress()
    }
}

extension Flight.State {
    /// Takes the follower out that is to lead next; one that is not suspended, if there is one.
    fileprivate mutating func takeNext() -> Flight.Member? {
        let index = followers.firstIndex { !$0.isSuspended } ?? followers.indices.first
        return index.map { followers.remove(at: $0) }
    }
}

/// What a request that shares a transfer has in its place.
final class SharedTask: TransferTask {
    let identifier = TransferIdentifier.next()
    private let flight: Flight

    init(flight: Flight) {
        self.flight = flight
    }

    func cancel() { flight.cancel(self) }
    func suspend() { flight.suspend(self) }
    func resume() { flight.resume(self) }
    func reportProgress() { flight.reportProgress() }
}

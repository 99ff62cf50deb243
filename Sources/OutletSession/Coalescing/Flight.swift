import OutletHTTP
import OutletTransport

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

    /// What a request has come to in the end.
    struct Outcome: Sendable {
        let result: TransferResult
        let error: SessionError?
    }

    private let state = Lock(State())
    private let core: SessionCore
    private let onEnd: @Sendable (Flight) -> Void

    /// - Parameter onEnd: Called when no more may join, once.
    init(core: SessionCore, onEnd: @escaping @Sendable (Flight) -> Void) {
        self.core = core
        self.onEnd = onEnd
    }

    // MARK: Coming

    /// What a request that has joined has to do.
    enum Entry {
        /// It came too late.
        case tooLate
        /// It leads: it has to begin the transfer.
        case leads
        /// It waits for the leader.
        case waits
    }

    /// Adds a request that waits for the leader; the first is the leader itself.
    func join(_ member: Member) -> Entry {
        let (entry, running, resumes) = state.withLock {
            state -> (Entry, (any TransferTask)?, Bool) in
            guard !state.isOver else { return (.tooLate, nil, false) }
            guard let leader = state.leader else {
                state.lead(member)
                return (.leads, nil, false)
            }
            if member.job.reportsProgress { state.wantsProgress = true }
            guard state.waitsForResume else {
                state.followers.append(member)
                return (.waits, state.transfer, false)
            }
            // All others are suspended.
            state.followers.append(leader)
            state.leader = member
            state.isSuspended = false
            return (.waits, state.transfer, true)
        }
        if member.job.reportsProgress { running?.reportProgress() }
        if resumes { settle() }
        return entry
    }

    /// Begins the leader's next transfer.
    ///
    /// - Returns: What stands for it; `nil` when the request does not lead.
    func begin(_ job: TransferJob, for request: Request) -> SharedTask? {
        let member = Member(
            request: request, task: SharedTask(flight: self, request: job.request), job: job)
        let leads = state.withLock { state in
            guard !state.isOver, state.leader?.request === request else { return false }
            state.lead(member)
            return true
        }
        guard leads else { return nil }
        start(job)
        return member.task
    }

    /// Begins a transfer for whoever leads.
    func start(_ job: TransferJob) {
        var job = job
        let (leader, generation, wantsProgress) = state.withLock {
            ($0.leader, $0.generation, $0.wantsProgress)
        }
        guard leader != nil else { return }
        if wantsProgress { job.reportsProgress = true }
        let transfer = core.stack.start(job, handler: self)
        let (cancels, suspends) = state.withLock { state in
            // It may be over already, and another one have begun.
            guard state.isTransferring, state.generation == generation else {
                return (false, false)
            }
            state.transfer = transfer
            return (state.isCancelWanted, state.isSuspended)
        }
        if cancels { transfer.cancel() }
        if suspends { settle() }
    }

    /// Does to the transfer what was decided last, whoever comes in between.
    private func settle() {
        var done: Bool?
        while true {
            let (transfer, isSuspended) = state.withLock { ($0.transfer, $0.isSuspended) }
            guard let transfer, done != isSuspended else { return }
            if isSuspended { transfer.suspend() } else { transfer.resume() }
            done = isSuspended
        }
    }

    // MARK: What the transport tells

    /// Whether the server that the last head came from was verified.
    var isServerVerified: Bool { state.withLock { $0.isServerVerified } }

    func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
        guard let leader = state.withLock({ $0.leader }) else { return }
        leader.request.transfer(leader.task, didRefuseServer: refusal)
    }

    func transfer(
        _ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn
    ) {
        guard let leader = state.withLock({ $0.leader }) else { return }
        leader.request.transfer(leader.task, didUse: head, turn: turn)
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        let isServerVerified = task.isServerVerified
        let leader = state.withLock { state in
            state.isServerVerified = isServerVerified
            return state.leader
        }
        guard let leader else { return .cancel }
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
        leader.task.complete()
        leader.request.transferDidFinish(leader.task, result: result, turn: turn)
    }

    // MARK: Going

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
            return (leader, state.hand(to: next))
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
                return ([], state.hand(to: next), false)
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
        let isLeader = state.withLock { state in
            if let index = state.followers.firstIndex(where: { $0.task === task }) {
                state.followers[index].isSuspended = true
                return false
            }
            guard var leader = state.leader, leader.task === task else { return false }
            leader.isSuspended = true
            state.leader = leader
            // Between two transfers the leader's place cannot change hands.
            if state.isTransferring, !state.isCancelWanted,
                let index = state.followers.firstIndex(where: { !$0.isSuspended })
            {
                state.leader = state.followers.remove(at: index)
                state.followers.append(leader)
                return false
            }
            state.isSuspended = true
            return true
        }
        if isLeader { settle() }
    }

    /// A request goes on, and gets what has come meanwhile.
    func resume(_ task: SharedTask) {
        let (member, outcome) = state.withLock { state -> (Member?, Outcome?) in
            if state.leader?.task === task {
                state.leader?.isSuspended = false
                state.isSuspended = false
                return (nil, nil)
            }
            guard let index = state.followers.firstIndex(where: { $0.task === task }) else {
                return (nil, nil)
            }
            state.followers[index].isSuspended = false
            if let outcome = state.outcome { return (state.followers.remove(at: index), outcome) }
            if state.waitsForResume, let leader = state.leader {
                state.leader = state.followers.remove(at: index)
                state.followers.append(leader)
                state.isSuspended = false
            }
            return (nil, nil)
        }
        settle()
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

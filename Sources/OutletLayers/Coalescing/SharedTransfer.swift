import OutletHTTP
import OutletTransport

/// The transfer that several equal jobs share.
///
/// It is suspended while all its tasks are suspended, and cancelled when all are cancelled.
///
/// Thread: any. Handlers and transports are called outside the lock.
final class SharedTransfer: TransferHandler {
    private let layer: CoalescingLayer
    private let key: CoalescingKey
    private let job: TransferJob
    private let inner: InnerTransfer
    private let machine = Lock(SharingMachine<SharedTask>())

    /// Makes a transfer without tasks, which ``join(_:)`` starts.
    ///
    /// - Parameters:
    ///   - job: The job, equal for all tasks.
    ///   - layer: The layer that sends the job.
    ///   - key: The key of this transfer in the layer.
    init(of job: TransferJob, _ layer: CoalescingLayer, _ key: CoalescingKey) {
        self.job = job
        self.layer = layer
        self.key = key
        inner = InnerTransfer(job.request, reportsProgress: job.reportsProgress)
    }

    // MARK: Tasks

    /// Adds a task; the first one starts the transfer.
    ///
    /// - Returns: False if the transfer has ended.
    func join(_ task: SharedTask) -> Bool {
        switch machine.withLock({ $0.join(task, id: task.identifier) }) {
        case .hasEnded: return false
        case .joins: settle()
        case .begins:
            _ = inner.begin { wishes in
                var job = job
                job.reportsProgress = wishes.reportsProgress
                return layer.next.start(job, handler: self)
            }
        }
        if task.reportsProgress { inner.reportProgress() }
        return true
    }

    /// Removes a cancelled task; the last one cancels the transfer.
    func leave(_ task: SharedTask) {
        guard machine.withLock({ $0.leave(task.identifier) }) else { return settle() }
        layer.remove(self, key)
        _ = inner.cancel()
    }

    /// Records that a task was suspended or resumed.
    func suspend(_ task: SharedTask, _ isSuspended: Bool) {
        machine.withLock { $0.suspend(task.identifier, isSuspended) }
        settle()
    }

    /// Turns on progress reports for the transfer.
    func reportProgress() { inner.reportProgress() }

    /// Suspends or resumes the transfer; repeats until no other thread has changed the state.
    private func settle() {
        var done: Bool?
        while true {
            let isSuspended = machine.withLock { $0.allAreSuspended }
            guard done != isSuspended else { return }
            if isSuspended { inner.suspend() } else { inner.resume() }
            done = isSuspended
        }
    }

    // MARK: Callbacks of the transport

    private var tasks: [SharedTask] { machine.withLock { $0.members } }

    func transferIsPending(_ task: any TransferTask) {
        inner.control(task)
        for shared in tasks { shared.notifyPending() }
    }

    func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
        for shared in tasks { shared.notify(refusal) }
    }

    func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn) {
        inner.note(task)
        for shared in tasks { shared.notify(used: head, of: task, turn) }
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        inner.note(task)
        // The final head is reported together with the result.
        if !head.isFinal { for shared in tasks { shared.notify(interim: head, turn) } }
        return .proceed
    }

    func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        for shared in tasks { shared.notify(progress, turn) }
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        inner.end(task)
        let tasks = machine.withLock { $0.finish() }
        layer.remove(self, key)
        for (number, shared) in tasks.enumerated() {
            shared.play(result, of: task, isFirst: number == 0)
        }
    }
}

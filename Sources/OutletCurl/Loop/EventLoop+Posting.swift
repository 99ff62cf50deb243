import CCurl
import Glibc
import OutletFiles
import OutletPointers
import OutletTransport

/// Posting messages to a loop from any thread, and deciding which thread drives it.
extension EventLoop {
    /// Posts a message, and starts the loop's thread if no thread drives the loop.
    ///
    /// - Returns: False if the loop has ended.
    ///
    /// Thread: any.
    @discardableResult
    func post(_ message: LoopMessage) -> Bool {
        carryOut(mailbox.post(message, isDriver: executor.isCurrent))
    }

    /// Posts a message, and drives the loop on this thread until the transfer has ended, unless
    /// another thread drives it already.
    ///
    /// - Returns: False if the loop has ended.
    func post(_ message: LoopMessage, drivingUntilEndOf transfer: CurlTransfer) -> Bool {
        let action = mailbox.post(message)
        guard action == .drive else { return carryOut(action) }
        drive { transfer.phase == .finished }
        return true
    }

    /// Starts a transfer.
    ///
    /// Starts it at once if the loop's own thread calls this outside libcurl. Runs the loop on the
    /// calling thread if the loop has nothing else to do. Otherwise posts a message.
    ///
    /// - Parameters:
    ///   - mayRunOnCaller: Whether the calling thread may run the loop.
    ///   - mayBegin: Whether the transfer may begin before this returns. False if beginning it
    ///     calls user code, which may wait for a lock that the caller holds.
    /// - Returns: False if the loop has ended.
    func start(_ transfer: CurlTransfer, mayRunOnCaller: Bool, mayBegin: Bool) -> Bool {
        let isDriver = executor.isCurrent
        if isDriver, canStartInline, mayBegin {
            isStarting = true
            arrive(transfer)
            isStarting = false
            return true
        }
        let action = mailbox.post(
            .start(transfer), isDriver: isDriver, mayRunOnCaller: mayRunOnCaller && mayBegin)
        guard action == .runOnCaller else { return carryOut(action) }
        return carryOut(mailbox.returnFromCaller(isIdle: runOnCaller(transfer)))
    }

    /// Posts a message that ends the loop, and drives the loop to its end on this thread if no
    /// other thread drives it.
    ///
    /// - Parameter message: `drain` or `shutDown`.
    func close(_ message: LoopMessage) {
        let action = mailbox.post(message)
        if action == .drive { drive { false } } else { _ = carryOut(action) }
    }

    /// Does what the mailbox returned to the sender of a message.
    ///
    /// - Returns: False if the loop has ended.
    private func carryOut(_ action: Mailbox.Action) -> Bool {
        switch action {
        case .none, .runOnCaller: break
        case .wake: ccurl_poller_wake(poller)
        case .unpark: ccurl_poller_unpark(poller)
        case .drive: startThread()
        case .refuse: return false
        }
        return true
    }

    private func startThread() {
        let code = startThread(standsBy: false)
        guard code != 0 else { return }
        abandon(
            TransferError(
                code: .unknown,
                reason: "the transport's thread cannot start: \(systemText(code))"))
    }

    /// Leaves the loop without a driver if it has nothing to do; otherwise starts a thread for it.
    func handOver() {
        assertOnLoop()
        let isIdle = pool.inUse == 0 && held.isEmpty && !executor.hasJobs
        // No thread remains that could free them later.
        if isIdle { blocks.freeIdle() }
        if !isIdle || !mailbox.release() { startThread() }
    }

    /// Ends all transfers with an error, because no thread can be created to drive the loop.
    private func abandon(_ error: TransferError) {
        let before = executor.enter()
        defer { executor.leave(for: before) }
        repeat {
            _ = mailbox.take(into: &messages)
            for message in messages {
                switch message {
                case .start(let transfer): fail(transfer, error)
                case .run(let job): LoopExecutor.runElsewhere(job)
                case .order(let order): take(order)
                case .drain, .shutDown: closing.drain()
                default: break
                }
            }
            messages = []
            while let transfer = pool.anyTransfer { end(transfer, error) }
            for transfer in held.values { end(transfer, error) }
            executor.runJobsElsewhere()
            // Afterwards another thread may drive the loop.
            turn.end()
        } while !(closing.hasBegun ? mailbox.close() : mailbox.release())
        if closing.hasBegun { announceEnd() }
    }
}

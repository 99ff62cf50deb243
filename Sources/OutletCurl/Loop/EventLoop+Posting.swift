import CCurl
import Glibc
import OutletPointers
import OutletTransport

/// The way into a loop from any thread, and who drives it then.
extension EventLoop {
    /// Leaves a message for the loop, and starts its thread if nobody drives it.
    ///
    /// - Returns: False when the loop has ended.
    @discardableResult
    func post(_ message: LoopMessage) -> Bool {
        carryOut(mailbox.post(message, isDriver: executor.isCurrent))
    }

    /// Leaves a message, and drives the loop on this thread until the transfer is over, unless
    /// somebody drives it already.
    ///
    /// - Returns: False when the loop has ended.
    func post(_ message: LoopMessage, drivingUntilEndOf transfer: CurlTransfer) -> Bool {
        let action = mailbox.post(message)
        guard action == .drive else { return carryOut(action) }
        drive { transfer.phase == .finished }
        return true
    }

    /// Starts a transfer: at once where the loop's own thread asks for it outside libcurl, and on
    /// this thread if the loop has nothing else to do.
    ///
    /// - Parameters:
    ///   - mayRunOnCaller: Whether this thread may do a loop's work.
    ///   - mayBegin: Whether the transfer may begin before this returns; not if code of the program's is
    ///     called in its beginning, which may want a lock that the caller holds.
    /// - Returns: False when the loop has ended.
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

    /// Ends a loop that has nothing to do; on this thread if nobody drives it.
    func close(_ message: LoopMessage) {
        let action = mailbox.post(message)
        if action == .drive { drive { false } } else { _ = carryOut(action) }
    }

    /// Does what the mailbox asks of the sender of a message.
    ///
    /// - Returns: False when the loop has ended.
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
        var thread = pthread_t()
        // The thread keeps the loop alive until it ends.
        let box = ObjectPointer.retained(self)
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                ccurl_prepare_thread("outlet-loop")
                ObjectPointer.takeRetained(argument, as: EventLoop.self).drive { false }
                return nil
            }, box)
        guard code != 0 else {
            pthread_detach(thread)
            return
        }
        ObjectPointer.release(box)
        abandon(
            TransferError(
                code: .unknown,
                reason: "the transport's thread cannot start: \(String(cString: strerror(code)))"))
    }

    /// Leaves the loop to itself when it has nothing to do, else to a thread of its own.
    func handOver() {
        assertOnLoop()
        let isIdle = pool.inUse == 0 && held.isEmpty && !executor.hasJobs
        if !isIdle || !mailbox.release() { startThread() }
    }

    /// Fails what has come to a loop that cannot be driven.
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
                case .drain, .shutDown: isDraining = true
                default: break
                }
            }
            messages = []
            while let transfer = pool.anyTransfer { end(transfer, error) }
            executor.runJobsElsewhere()
        } while !(isDraining ? mailbox.close() : mailbox.release())
        if isDraining { announceEnd() }
        turn.end()
    }
}

import CCurl
import Glibc
import OutletSession

/// The way into a loop from any thread, and who drives it then.
extension EventLoop {
    /// Leaves a message for the loop, and starts its thread if nobody drives it.
    ///
    /// - Returns: False when the loop has ended.
    @discardableResult
    func post(_ message: LoopMessage) -> Bool {
        heed(mailbox.post(message, isOwn: executor.isCurrent))
    }

    /// Leaves a message, and drives the loop on this thread until the transfer is over, unless
    /// somebody drives it already.
    ///
    /// - Returns: False when the loop has ended.
    func post(_ message: LoopMessage, drivingUntilEndOf transfer: CurlTransfer) -> Bool {
        let reply = mailbox.post(message)
        guard reply == .drive else { return heed(reply) }
        drive { transfer.phase == .finished }
        return true
    }

    /// Starts a transfer: at once where the loop's own thread asks for it outside libcurl, and on
    /// this thread if the loop has nothing else to do.
    ///
    /// - Parameters:
    ///   - mayBorrow: Whether this thread may do a loop's work.
    ///   - mayBegin: Whether the transfer may begin before this returns; not if code of the program's is
    ///     called in its beginning, which may want a lock that the caller holds.
    /// - Returns: False when the loop has ended.
    func start(_ transfer: CurlTransfer, mayBorrow: Bool, mayBegin: Bool) -> Bool {
        let isOwn = executor.isCurrent
        if isOwn, isReceptive, mayBegin {
            isStarting = true
            arrive(transfer)
            isStarting = false
            return true
        }
        let reply = mailbox.post(
            .start(transfer), isOwn: isOwn, mayBorrow: mayBorrow && mayBegin)
        guard reply == .lent else { return heed(reply) }
        work(on: transfer)
        return heed(mailbox.giveBack(isIdle: hasNothingToDo))
    }

    /// Ends a loop that has nothing to do; on this thread if nobody drives it.
    func close(_ message: LoopMessage) {
        let reply = mailbox.post(message)
        if reply == .drive { drive { false } } else { _ = heed(reply) }
    }

    /// Sees to it that a message is read.
    ///
    /// - Returns: False when the loop has ended.
    private func heed(_ reply: Mailbox.Reply) -> Bool {
        switch reply {
        case .accepted, .lent: break
        case .wake: ccurl_poller_wake(poller)
        case .rouse: ccurl_poller_rouse(poller)
        case .drive: startThread()
        case .closed: return false
        }
        return true
    }

    private func startThread() {
        var thread = pthread_t()
        // The thread keeps the loop alive until it ends.
        let box = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                ccurl_prepare_thread("outlet-loop")
                Unmanaged<EventLoop>.fromOpaque(argument).takeRetainedValue().drive { false }
                return nil
            }, box.toOpaque())
        guard code != 0 else {
            pthread_detach(thread)
            return
        }
        box.release()
        abandon(
            TransferError(
                code: .unknown,
                reason: "the transport's thread cannot start: \(String(cString: strerror(code)))"))
    }

    /// Leaves the loop to itself when it has nothing to do, else to a thread of its own.
    func handOver() {
        let isIdle = pool.lent == 0 && held.isEmpty && !executor.hasJobs
        if !isIdle || !mailbox.park() { startThread() }
    }

    /// Fails what has come to a loop that cannot be driven.
    private func abandon(_ error: TransferError) {
        repeat {
            _ = mailbox.take(into: &messages)
            for message in messages {
                switch message {
                case .start(let transfer): fail(transfer, error)
                case .run(let job): LoopExecutor.runElsewhere(job)
                case .order(let order): take(order)
                case .drain, .shutDown: executor.belongs(to: nil)
                default: break
                }
            }
            messages = []
            while let transfer = pool.anyTransfer { end(transfer, error) }
            executor.runJobsElsewhere()
        } while !mailbox.park()
        turn.end()
    }
}

import CCurl
import Glibc
import OutletThreads
import OutletTransport

/// The threads of a loop, and the handlers that run on them.
///
/// The handlers of a session's own queue, and tasks that awaited a response, run on the thread that
/// drives the loop. To wake a thread for them costs more than most of them take, and the two would
/// contend for memory: 2.5 µs a request for handlers and 2 µs for tasks, at 64 in flight
/// (`Benchmarks/run --only session-callback-queue,session-async`). Both may block, so
/// a second thread stands by: after ``HandlerTime/limit`` it drives the loop, and the first one
/// stands by when it returns (the leader/followers pattern).
extension EventLoop {
    /// Starts a thread of the loop, which keeps the loop alive until it ends.
    ///
    /// - Parameter standsBy: Whether it stands by first, and does not drive the loop.
    /// - Returns: 0, or the errno of `pthread_create`.
    func startThread(standsBy: Bool) -> Int32 {
        SystemThread.start(named: "outlet-loop") {
            if !standsBy || self.standBy() { self.run() }
        }
    }

    /// Drives the loop, or stands by, until the loop has ended.
    ///
    /// Thread: the loop's own.
    private func run() {
        let reserve = ccurl_reserve_memory()
        defer { free(reserve) }
        while !drive(), standBy() {}
    }

    /// Submits the turn's work to its queues, and runs that of a session's own queue.
    ///
    /// - Returns: Whether this thread still drives the loop.
    func endTurn() -> Bool {
        assertOnLoop()
        guard now >= handlers.restsUntil, turn.takeOwnWork(into: &handlers.work) else {
            turn.end()
            return true
        }
        turn.end()
        // The other thread may use the handlers' time meanwhile.
        var work = TransportTurn.OwnWork()
        swap(&work, &handlers.work)
        guard prepareStandby(), enterHandlers() else {
            work.submit()
            return true
        }
        executor.leave(for: nil)
        work.run(waitingTasks)
        guard mailbox.returnFromHandlers() else { return false }
        _ = executor.enter()
        swap(&work, &handlers.work)
        handlers.haveRun = true
        return true
    }

    /// - Returns: False if no thread could relieve this one.
    private func enterHandlers() -> Bool {
        assertOnLoop()
        switch mailbox.enterHandlers() {
        case .enter: return true
        case .refuse: return false
        case .enterAfterSettingTimer(let doubled):
            if ccurl_poller_set_relief(poller, HandlerTime.limit << doubled) { return true }
            mailbox.loseTimer()
            // Nobody relieves this thread without a timer.
            _ = mailbox.returnFromHandlers()
            return false
        }
    }

    /// Starts the second thread with the first handlers.
    ///
    /// - Returns: False if it cannot be started.
    private func prepareStandby() -> Bool {
        assertOnLoop()
        guard !handlers.hasStandby else { return true }
        guard ccurl_poller_make_relief(poller),
            startThread(standsBy: true) == 0
        else {
            handlers.restsUntil = .max
            return false
        }
        handlers.hasStandby = true
        return true
    }

    /// Waits until the driver has been in handlers for too long.
    ///
    /// - Returns: Whether this thread drives the loop from now on; false if the loop has ended.
    private func standBy() -> Bool {
        while ccurl_poller_await_relief(poller) {
            switch mailbox.relieve() {
            case .drive:
                handlers.rest(from: ccurl_now_us())
                waitingTasks.submit()
                return true
            case .setTimer(let doubled):
                _ = ccurl_poller_set_relief(poller, HandlerTime.limit << doubled)
            case .wait: continue
            case .end: return false
            }
        }
        return false
    }

    /// Ends the thread that stands by, after the mailbox has been closed.
    func dismissStandby() {
        assertOnLoop()
        if handlers.hasStandby { _ = ccurl_poller_set_relief(poller, 1) }
    }
}

/// When the handlers of a session's own queue may run on the loop's threads.
struct HandlerTime {
    /// How long they may keep the loop from being driven, in µs; it takes up to as long again until
    /// the second thread notices.
    ///
    /// Sixteen times as long if the handlers were short until now, see
    /// ``MailboxMachine/maximumDoublings``.
    static let limit: Int64 = 1000
    /// How long handlers go to their queue after they took longer than ``limit``, in µs: at first,
    /// and at most.
    ///
    /// Each time in a row that they do, it takes twice as long. A thread that did not get a processor
    /// for a millisecond looks the same, and needs no rest.
    private static let rests: ClosedRange<Int64> = 10_000...160_000

    private var rest = rests.lowerBound
    /// Whether a second thread stands by.
    var hasStandby = false
    /// Empty; kept for the memory of the last turn's work.
    var work = TransportTurn.OwnWork()
    /// Whether handlers have run since the last wait for sockets.
    var haveRun = false
    /// Handlers go to their queue until then, in µs of the monotonic clock.
    var restsUntil: Int64 = 0

    /// Lets handlers go to their queue for a while, because they took longer than ``limit``.
    mutating func rest(from now: Int64) {
        let isSoon = now - restsUntil < rest
        rest = isSoon ? min(2 * rest, Self.rests.upperBound) : Self.rests.lowerBound
        restsUntil = now + rest
    }
}

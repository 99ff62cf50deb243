import CCurl
import Glibc
import OutletTransport
import Synchronization

/// One multi handle, the thread that drives it, and all transfers that run on them.
///
/// A turn of the loop: take the messages, let libcurl work on its timer, hand over what finished,
/// give the handlers' work to their queues, wait.
final class EventLoop: @unchecked Sendable {
    // because all but the mailbox, the poller's wakes and the constants is touched by one thread at
    // a time: the driver, and the mailbox says who that is.
    // For the same reason release builds do not check exclusive access to what each transfer touches: the
    // checks of all such properties cost 3 % of a transfer's instructions (Benchmarks/count transport).

    let settings: TransportSettings
    /// Whether it carries the transfers with a file or a stream at either end.
    let isBulk: Bool
    let turn = TransportTurn()
    /// µs of the monotonic clock, read once a turn and after each wait.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private(set) var now: Int64

    let mailbox = Mailbox()
    /// How many transfers were given to the loop and are not over.
    let load = Load()
    /// Runs Swift tasks on the loop's thread.
    let executor = LoopExecutor()
    /// What other threads see of the origins.
    let origins = OriginRegistry()
    let poller: OpaquePointer
    let multi: UnsafeMutableRawPointer
    let shared: SharedState

    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var messages: [LoopMessage] = []
    /// Whether the last turn had several messages of other threads: then more of them are likely.
    private var isBusy = false
    /// The handles, and with them the transfers in the multi handle.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var pool: HandlePool
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var addresses: AddressCache
    /// What metrics say about the connections.
    var connections = ConnectionTexts()
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var admission: AdmissionQueue<CurlTransfer>
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var deadlines = DeadlineHeap<CurlTransfer>()
    /// Transfers that were suspended before they had a place, by identifier.
    var held: [UInt64: CurlTransfer] = [:]
    var isDraining = false
    /// Whether a transfer that is started by the loop's own thread may begin at once: libcurl is not
    /// in the middle of anything.
    var canStartInline = false
    /// Whether the submitting thread drives the loop: what its transfer's end starts is left to the
    /// loop's own thread.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private(set) var isOnCaller = false
    /// Whether somebody waits for a transfer to be started, and must not be told of any end meanwhile.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var isStarting = false
    private var isCleanedUp = false
    /// No more transfers start.
    var isShutDown = false
    /// A callback of libcurl's has found room for transfers, which it cannot start itself.
    var hasNewRoom = false
    /// What transfers end with from then on.
    var shutDownError = TransferError.transportClosed
    /// How many transfers were under way then.
    var cutCount = 0
    /// Tells when the loop has ended.
    let ending = LoopEnding()

    /// Makes a loop.
    ///
    /// - Parameters:
    ///   - share: Among how many loops the limits of the configuration are divided.
    ///   - isBulk: Whether its transfers have a file or a stream at either end.
    init(
        _ settings: TransportSettings, shared: SharedState, share: Int, isBulk: Bool
    ) throws(TransferError) {
        var error: Int32 = 0
        guard let poller = ccurl_poller_create(&error) else {
            throw TransferError(
                code: error == EMFILE || error == ENFILE ? .tooManyOpenFiles : .unknown,
                reason: "the transport cannot start: \(String(cString: strerror(error)))",
                advice: error == EMFILE ? "raise the limit of open files (ulimit -n)" : "")
        }
        guard let multi = curl_multi_init() else {
            ccurl_poller_destroy(poller)
            throw TransferError(
                code: .unknown, reason: "the transport cannot start: no memory left")
        }
        self.settings = settings
        self.isBulk = isBulk
        self.shared = shared
        self.poller = poller
        self.multi = multi
        now = ccurl_now_us()
        pool = HandlePool(HandleSetUp(poller: poller, share: shared.share, settings: settings))
        addresses = AddressCache(OriginTable(settings, amongLoops: share, origins))
        admission = AdmissionQueue(limit: settings.configuration.maximumConnections / share)
        executor.belongs(to: self)
        ccurl_poller_attach(poller, multi)
        // Unset, libcurl keeps four idle connections for each handle in use, and so closes most of
        // them as soon as a burst is over.
        ccurl_multi_set_long(
            multi, CURLMOPT_MAXCONNECTS, min(settings.configuration.maximumConnections, 1 << 20))
    }

    deinit {
        if !isCleanedUp {
            pool.drain()
            curl_multi_cleanup(multi)
        }
        // A sender may still have been about to wake the loop, so the poller goes last.
        ccurl_poller_destroy(poller)
    }

    // MARK: The driver's thread

    /// Stops a debug build when the calling thread does not drive the loop; free in a release build.
    ///
    /// First in every method that touches what belongs to the driver.
    func assertOnLoop(_ method: StaticString = #function) {
        assert(executor.isCurrent, "\(method): not on the thread that drives the loop")
    }

    /// Runs the loop until it is over, or until `isEnough` and somebody else can go on.
    func drive(until isEnough: () -> Bool) {
        let before = executor.enter()
        defer { executor.leave(for: before) }
        repeat {
            wait()
            step()
            if isEnough() { return handOver() }
        } while !isOver
        // The handles first: the multi handle closes the connections they used.
        pool.drain()
        addresses.removeAll()
        curl_multi_cleanup(multi)
        isCleanedUp = true
        announceEnd()
        executor.leave(for: before)
        executor.runJobsElsewhere()
    }

    /// Nothing is left to do, and no message is taken any more.
    func announceEnd() {
        assertOnLoop()
        executor.belongs(to: nil)
        ending.reach(cutCount)
    }

    private var isOver: Bool {
        assertOnLoop()
        return (isDraining || isShutDown) && pool.inUse == 0 && held.isEmpty && !executor.hasJobs
            && mailbox.close()
    }

    /// Starts a transfer on the submitting thread: the request is sent, and may be over, before
    /// another thread could have been woken.
    ///
    /// - Returns: Whether the loop has nothing to do afterwards.
    func runOnCaller(_ transfer: CurlTransfer) -> Bool {
        let before = executor.enter()
        isOnCaller = true
        defer {
            isOnCaller = false
            executor.leave(for: before)
        }
        // Nobody has looked at the kept connections since the loop was parked.
        let ready = ccurl_poller_wait(poller, 0)
        now = ccurl_now_us()
        if ready > 0 { ccurl_poller_dispatch(poller) }
        arrive(transfer)
        for _ in 0..<Self.movesInTurn where !move() { break }
        expire()
        turn.end()
        return hasNothingToDo
    }

    private func wait() {
        assertOnLoop()
        let timer = ccurl_poller_timer(poller)
        let maySleep = (timer < 0 || timer > now) && !executor.hasJobs
        // A look without sleeping spares a busy sender the wake, which costs it a system call.
        var ready: Int32 = maySleep && !isBusy ? 0 : ccurl_poller_wait(poller, 0)
        // With messages there the sockets have to wait: the turn after these looks at them.
        if maySleep, ready == 0 {
            if hasNothingToDo {
                if mailbox.park() {
                    ccurl_poller_park(poller)
                    ready = ccurl_poller_wait(poller, 0)
                }
            } else if mailbox.poll() {
                ready = ccurl_poller_wait(poller, sleepTime(until: timer))
            }
        }
        now = ccurl_now_us()
        if ready > 0 { ccurl_poller_dispatch(poller) }
    }

    /// How often libcurl is asked before the sockets have their turn.
    ///
    /// A transfer that it has just been given, or has just sent, wants to be looked at again at once,
    /// which needs no system call.
    private static let movesInTurn = 8

    /// All that can be done without waiting.
    private func step() {
        assertOnLoop()
        isBusy = false
        for _ in 0..<Self.movesInTurn {
            // Messages before completions: who is suspended or cancelled must not get the place
            // that a completion sets free.
            // One alone may well be the only one for a while: a task that awaits each answer.
            if mailbox.take(into: &messages), messages.count > 1 { isBusy = true }
            handleMessages()
            runJobs()
            if !move() { break }
        }
        expire()
        turn.end()
    }

    /// Lets libcurl work, if its time has come, and hands over what it has finished.
    ///
    /// - Returns: Whether there was anything to do, so that there may be more.
    private func move() -> Bool {
        assertOnLoop()
        let isTimer = ccurl_poller_fire_timer(poller, now)
        let isNews = collect()
        guard hasNewRoom else { return isTimer || isNews }
        hasNewRoom = false
        admitWaiting()
        return true
    }

    /// Whether no transfer is under way and no time is to be kept; kept connections need no care.
    private var hasNothingToDo: Bool {
        assertOnLoop()
        return pool.inUse == 0 && held.isEmpty && deadlines.firstDeadline == nil
            && !executor.hasJobs
            && ccurl_poller_timer(poller) < 0
    }

    /// Until libcurl's timer or the next deadline, in whole milliseconds, rounded up so that it is
    /// due after the wait.
    private func sleepTime(until timer: Int64) -> Int32 {
        let deadline = deadlines.firstDeadline ?? -1
        let next = timer < 0 ? deadline : deadline < 0 ? timer : min(timer, deadline)
        guard next >= 0 else { return -1 }
        return Int32(clamping: max(0, (next - ccurl_now_us() + 999) / 1000))
    }

    private func handleMessages() {
        assertOnLoop()
        guard !messages.isEmpty else { return }
        // Taken from the end, which moves nothing.
        if messages.count > 1 { messages.reverse() }
        while let message = messages.popLast() { handle(message) }
        if messages.capacity > 4096 { messages = [] }
    }

    private func handle(_ message: LoopMessage) {
        assertOnLoop()
        switch message {
        case .start(let transfer): arrive(transfer)
        case .cancel(let transfer): end(transfer, .cancelled)
        case .suspend(let transfer): suspend(transfer)
        case .resume(let transfer): resume(transfer, after: .request)
        case .observed(let transfer, let error): observed(transfer, error)
        case .bodyReady(let transfer): sendMore(of: transfer)
        case .reportProgress(let transfer): reportProgress(of: transfer)
        case .order(let order): take(order)
        case .run(let job):
            canStartInline = true
            executor.run(job)
            canStartInline = false
        case .drain: isDraining = true
        case .shutDown(let error): shutDown(error)
        }
    }

    /// Runs the tasks that were resumed on this thread.
    private func runJobs() {
        assertOnLoop()
        guard executor.hasJobs else { return }
        canStartInline = true
        executor.runJobs()
        canStartInline = false
    }

    /// Hands over all transfers that libcurl has finished.
    ///
    /// - Returns: Whether there were any.
    private func collect() -> Bool {
        assertOnLoop()
        var code = CURLE_OK
        var isNews = false
        while let client = ccurl_multi_next_done(multi, &code) {
            let easy = EasyHandle.from(client)
            guard let transfer = easy.carried else { continue }
            isNews = true
            complete(transfer, easy, code)
        }
        return isNews
    }
}

/// A number that any thread may read and change.
final class Load: Sendable {
    private let count = Atomic(0)

    /// The number; others may have changed it meanwhile.
    var value: Int { count.load(ordering: .relaxed) }

    /// One more.
    func rise() { count.add(1, ordering: .relaxed) }

    /// One more, unless there are `limit` already.
    ///
    /// - Returns: Whether there is one more now.
    func rise(upTo limit: Int) -> Bool {
        guard count.add(1, ordering: .relaxed).oldValue >= limit else { return true }
        fall()
        return false
    }

    /// One less.
    func fall() { count.subtract(1, ordering: .relaxed) }
}

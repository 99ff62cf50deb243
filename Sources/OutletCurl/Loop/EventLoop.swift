import CCurl
import Glibc
import OutletFiles
import OutletTransport
import Synchronization

/// One multi handle, the thread that drives it, and the transfers that run on it.
///
/// One iteration ("turn") of the loop: wait, take the messages, call libcurl when its timer is due,
/// report finished transfers, and submit the handlers' work to their dispatch queues.
final class EventLoop: @unchecked Sendable {
    // because one thread at a time, the driver, uses everything but the mailbox, the poller's wakes
    // and the constants. The mailbox decides which thread that is.
    // For the same reason release builds do not check exclusive access to what each transfer uses:
    // the checks of all such properties cost 3 % of a transfer's instructions (Benchmarks/count
    // transport).

    let settings: TransportSettings
    /// Whether it runs the transfers with a file or a stream at either end.
    let isBulk: Bool
    let turn = TransportTurn()
    /// The monotonic clock in µs, read once in a turn, after the wait.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private(set) var now: Int64

    let mailbox = Mailbox()
    /// The number of transfers that were posted to the loop and have not ended.
    let load = Load()
    /// Runs Swift tasks on the loop's thread.
    let executor = LoopExecutor()
    /// The numbers of each origin's connections and transfers, for other threads to read.
    let origins = OriginRegistry()
    let poller: OpaquePointer
    let multi: UnsafeMutableRawPointer
    let shared: SharedState

    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var messages: [LoopMessage] = []
    /// Whether the last turn took several messages from other threads, so that more are likely.
    private var isBusy = false
    /// Whether the last turn did not poll the sockets.
    private var isPollDue = false
    /// The number of pieces of bodies that transfers have received.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var pieces: UInt64 = 0
    /// The transfers that wait for the next turn, because they have received for too long.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var yielded: [CurlTransfer] = []
    /// The easy handles: idle ones, and those in use, each of which carries a transfer.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var pool: HandlePool
    /// The memory of large bodies.
    let blocks = BlockPool()
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var addresses: AddressCache
    /// Strings about connections for the metrics, made once per connection.
    var connections = ConnectionTexts()
    /// The connections over TLS (`SSL *`) with HTTP/1 on which requests run, and the handles of these; a
    /// handle may have finished with its connection.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var occupied: [UnsafeMutableRawPointer: EasyHandle] = [:]
    /// The connections that only transfers with the same credentials may use.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var negotiated = NegotiatedConnections()
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var admission: AdmissionQueue<CurlTransfer>
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var deadlines = DeadlineHeap<CurlTransfer>()
    /// The WebSockets with new orders.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var ordered: [CurlTransfer] = []
    /// Transfers that were suspended before they got a place, by identifier.
    var held: [UInt64: CurlTransfer] = [:]
    /// Changes with each turn, and when a part of a response has been received: for ``BusyWatch``.
    ///
    /// In memory of its own, because callbacks of OpenSSL read it also while the loop is released.
    var epoch: UnsafePointer<UInt64> { UnsafePointer(presentEpoch) }
    private let presentEpoch: UnsafeMutablePointer<UInt64>
    var closing = LoopClosing()
    /// Whether code on the loop's thread may start a transfer at once.
    ///
    /// False within libcurl's callbacks, where libcurl must not be called.
    var canStartInline = false
    /// Whether the submitting thread drives the loop now.
    ///
    /// A transfer that a handler starts then goes through the mailbox to the loop's own thread.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private(set) var isOnCaller = false
    /// Whether handlers may run on the loop's threads, and which thread stands by.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var handlers = HandlerTime()
    /// The tasks that this turn's handlers have not run yet; any thread may submit them.
    let waitingTasks = TransportTurn.WaitingTasks()
    /// Whether a call of ``start(_:mayRunOnCaller:mayBegin:)`` is starting a transfer now.
    ///
    /// The handler must not be called before that returns, so ``fail(_:_:)`` postpones failures.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var isStarting = false
    private var isCleanedUp = false
    /// Whether a libcurl callback has found that waiting transfers may start.
    ///
    /// ``move()`` starts them, because the callback must not call libcurl.
    var hasNewRoom = false
    /// Lets other threads wait for the end of the loop.
    let ending = LoopEnding()

    /// Makes a loop; starts no thread.
    ///
    /// - Parameters:
    ///   - settings: The configuration.
    ///   - shared: The caches and counters that the transport's loops have in common.
    ///   - share: The number of loops that the configuration's limits are divided among.
    ///   - isBulk: Whether its transfers have a file or a stream at either end.
    /// - Throws: `TransferError` if file descriptors or memory are exhausted.
    init(
        _ settings: TransportSettings, shared: SharedState, share: Int, isBulk: Bool
    ) throws(TransferError) {
        var error: Int32 = 0
        guard let poller = ccurl_poller_create(&error) else {
            throw TransferError(
                code: error == EMFILE || error == ENFILE ? .tooManyOpenFiles : .unknown,
                reason: "the transport cannot start: \(systemText(error))",
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
        presentEpoch = .allocate(capacity: 1)
        presentEpoch.initialize(to: 0)
        now = ccurl_now_us()
        pool = HandlePool(
            HandleSetUp(poller: poller, share: shared.share, settings: settings, blocks: blocks))
        addresses = AddressCache(OriginTable(settings, amongLoops: share, origins))
        admission = AdmissionQueue(limit: settings.configuration.maximumConnections / share)
        executor.belongs(to: self)
        ccurl_poller_attach(poller, multi, didStopReading)
        // By default libcurl keeps four idle connections for each handle in use, and so closes most
        // of them as soon as a burst is over.
        ccurl_multi_set_long(
            multi, CURLMOPT_MAXCONNECTS,
            min(
                settings.configuration.maximumConnections,
                Self.keptConnections(share: share, isBulk: isBulk)))
    }

    /// The number of connections beyond which a loop keeps no idle ones, so that those to former
    /// servers leave descriptors for others: half of the descriptors that the process may have, and
    /// a quarter for the loop of files and streams.
    private static func keptConnections(share: Int, isBulk: Bool) -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1 << 20
        }
        let descriptors = Int(min(limit.rlim_cur, 1 << 20))
        return max(1, descriptors / (isBulk ? 4 : 2) / share)
    }

    deinit {
        if !isCleanedUp {
            pool.drain()
            blocks.freeIdle()
            curl_multi_cleanup(multi)
        }
        // A sender may still be waking the loop until now, so the poller is freed last.
        ccurl_poller_destroy(poller)
        presentEpoch.deallocate()
    }

    // MARK: Connections with HTTP/1

    /// Whether a request runs on a connection over TLS with HTTP/1.
    func isOccupied(_ connection: UnsafeMutableRawPointer) -> Bool {
        assertOnLoop()
        guard let easy = occupied[connection] else { return false }
        // libcurl may have finished the transfer, which this loop has not collected yet.
        return ccurl_get_ssl(easy.raw) == connection
    }

    /// Records that a request is sent on a connection over TLS with HTTP/1.
    func occupy(_ connection: UnsafeMutableRawPointer, by easy: EasyHandle) {
        assertOnLoop()
        occupied[connection] = easy
        easy.occupied = connection
    }

    /// Records that a request does not run any more on the connection that it was sent on.
    func vacate(by easy: EasyHandle) {
        assertOnLoop()
        guard let connection = easy.occupied else { return }
        if occupied[connection] === easy { occupied[connection] = nil }
        easy.occupied = nil
    }

    // MARK: The driver's thread

    /// Checks in debug builds that the calling thread drives the loop; free in release builds.
    ///
    /// Called first in every method that uses what belongs to the driver.
    func assertOnLoop(_ method: StaticString = #function) {
        assert(executor.isCurrent, "\(method): not on the thread that drives the loop")
    }

    /// Runs the loop on a thread of a caller until it has ended, or until `isEnough` returns true
    /// and the loop can be left.
    func drive(until isEnough: () -> Bool) {
        let before = executor.enter()
        defer { executor.leave(for: before) }
        repeat {
            wait()
            step()
            turn.end()
            if isEnough() { return handOver() }
        } while !isOver
        end(for: before)
    }

    /// Runs the loop on one of its own threads until it has ended.
    ///
    /// - Returns: Whether it has; false if the other thread drives it from now on.
    func drive() -> Bool {
        let before = executor.enter()
        defer { executor.leave(for: before) }
        // Before the first wait, because the thread that was relieved may have taken the last
        // message.
        while !isOver {
            wait()
            step()
            guard endTurn() else { return false }
        }
        end(for: before)
        return true
    }

    /// Releases what the driver uses, and reports the end of the loop.
    private func end(for before: UnsafeRawPointer?) {
        assertOnLoop()
        yielded = []
        // First the easy handles: the multi handle closes the connections that they used.
        pool.drain()
        blocks.freeIdle()
        addresses.removeAll()
        curl_multi_cleanup(multi)
        isCleanedUp = true
        announceEnd()
        executor.leave(for: before)
        executor.runJobsElsewhere()
    }

    /// Reports the end of the loop, after the mailbox has been closed.
    func announceEnd() {
        assertOnLoop()
        executor.belongs(to: nil)
        ending.reach(closing.cutCount)
        dismissStandby()
    }

    private var isOver: Bool {
        assertOnLoop()
        return closing.hasBegun && pool.inUse == 0 && held.isEmpty && !executor.hasJobs
            && mailbox.close()
    }

    /// Starts a transfer on the submitting thread.
    ///
    /// The request is sent, and may even end, before another thread could have been woken.
    ///
    /// - Returns: Whether the loop's thread need not wake: the loop has nothing to do afterwards, and
    ///   no more idle blocks to free later.
    func runOnCaller(_ transfer: CurlTransfer) -> Bool {
        let before = executor.enter()
        let hadNoBlocks = blocks.freesReturned
        isOnCaller = true
        defer {
            isOnCaller = false
            executor.leave(for: before)
        }
        // The sockets of idle connections were not polled while the loop was parked.
        let ready = ccurl_poller_wait(poller, 0)
        now = ccurl_now_us()
        beginEpoch()
        if ready > 0 { ccurl_poller_dispatch(poller) }
        arrive(transfer)
        for _ in 0..<Self.movesInTurn where !move() { break }
        expire()
        turn.end()
        return hasNothingToDo && !(hadNoBlocks && !blocks.freesReturned)
    }

    /// Records that the loop has begun a turn, or received a part of a response.
    func beginEpoch() {
        assertOnLoop()
        presentEpoch.pointee &+= 1
    }

    private func wait() {
        assertOnLoop()
        beginEpoch()
        // What handlers have posted comes before the sockets, so that all requests of a turn are
        // sent together: 1.6 % of a request at 64 in flight (`Benchmarks/run --only
        // session-callback-queue`). The sockets are polled at least every second time.
        if handlers.haveRun, !isPollDue {
            isPollDue = true
            now = ccurl_now_us()
            return
        }
        handlers.haveRun = false
        isPollDue = false
        let timer = ccurl_poller_timer(poller)
        let maySleep = (timer < 0 || timer > now) && !executor.hasJobs && yielded.isEmpty
        // While messages are likely, polling without sleeping saves the sender the system call to
        // wake this thread.
        var ready: Int32 = maySleep && !isBusy ? 0 : ccurl_poller_wait(poller, 0)
        // If messages have arrived, `park` and `poll` refuse.
        if maySleep, ready == 0 {
            if hasNothingToDo {
                if mailbox.park() {
                    awaitMessage()
                    ready = ccurl_poller_wait(poller, 0)
                }
            } else {
                // Not even a handler that always posts another message may keep the sockets from
                // being polled.
                let time = mailbox.poll() ? sleepTime(until: timer) : 0
                ready = sleep(time)
            }
        }
        let reason = ready < 0 ? errno : 0
        now = ccurl_now_us()
        if ready > 0 { ccurl_poller_dispatch(poller) } else if ready < 0 { loseSockets(reason) }
    }

    /// Waits for a socket or a message, and frees idle blocks if nothing comes soon.
    ///
    /// - Parameter time: The longest wait in ms; -1 for no limit.
    /// - Returns: As `ccurl_poller_wait()`.
    private func sleep(_ time: Int32) -> Int32 {
        let soon = Int32(Self.timeUntilFreeing / 1000)
        guard time < 0 || time > soon, !blocks.freesReturned else {
            return ccurl_poller_wait(poller, time)
        }
        let begin = ccurl_now_us()
        let ready = ccurl_poller_wait(poller, soon)
        // Zero is also returned after a wake.
        if ready == 0, ccurl_now_us() - begin >= Self.timeUntilFreeing { blocks.freeIdle() }
        return ready
    }

    /// Waits for a message of another thread, and frees idle blocks if none comes soon.
    private func awaitMessage() {
        let time = blocks.freesReturned ? -1 : Self.timeUntilFreeing
        guard !ccurl_poller_park(poller, time) else { return }
        blocks.freeIdle()
        ccurl_poller_park(poller, -1)
    }

    /// How long the loop has nothing to do, or only waits, until it frees idle blocks, in µs.
    private static let timeUntilFreeing: Int64 = 5_000_000

    /// Ends the transfers that have begun, because the loop cannot wait for their sockets.
    private func loseSockets(_ reason: Int32) {
        assertOnLoop()
        let error = TransferError(
            code: reason == EMFILE || reason == ENFILE ? .tooManyOpenFiles : .unknown,
            reason: "another part of the process has closed the transport's epoll descriptor, "
                + "and a new one cannot be made: \(systemText(reason))")
        // Not until there are none: the end of one may start others.
        for _ in 0..<pool.inUse {
            guard let transfer = pool.anyTransfer else { break }
            end(transfer, error)
        }
    }

    /// How often one turn calls libcurl before it polls the sockets again.
    ///
    /// A transfer that was just added, or has just sent its request, has a timer that is due at
    /// once, which needs no system call.
    private static let movesInTurn = 8

    /// The number of pieces of bodies after which a turn polls the sockets again.
    private static let piecesInTurn: UInt64 = 64

    /// How long a transfer may go on receiving in a turn, in µs.
    private static let longestRead: Int64 = 20_000

    /// Counts a piece of a body that a transfer receives, and makes it wait for the next turn if this
    /// one takes long.
    ///
    /// libcurl reads up to 100 buffers at a time, which a server may fill with chunks of one byte.
    func countPiece(of transfer: CurlTransfer) {
        assertOnLoop()
        pieces &+= 1
        // The clock is read for few of them.
        if pieces & 1023 == 0 { limitTurn(of: transfer) }
    }

    /// Makes a transfer wait for the next turn if this one takes long; called in its callbacks.
    func limitTurn(of transfer: CurlTransfer) {
        assertOnLoop()
        if ccurl_now_us() - now > Self.longestRead { yield(transfer) }
    }

    /// Makes a transfer wait for the next turn; may be called in its callbacks.
    func yield(_ transfer: CurlTransfer) {
        assertOnLoop()
        guard !transfer.pauses.contains(.turn) else { return }
        yielded.append(transfer)
        pauseReceiving(transfer, for: .turn)
    }

    /// Continues the transfers that have waited for this turn.
    private func continueYielded() {
        assertOnLoop()
        guard !yielded.isEmpty else { return }
        let transfers = yielded
        yielded = []
        for transfer in transfers { resume(transfer, after: .turn) }
    }

    /// Does all work that can be done without waiting.
    private func step() {
        assertOnLoop()
        isBusy = false
        continueYielded()
        let start = pieces
        for _ in 0..<Self.movesInTurn where pieces &- start < Self.piecesInTurn {
            // Messages come before completions: a suspended or cancelled transfer must not get the
            // place that a completion frees.
            // A single message may be the only one for a while, from a task that awaits each
            // response, so only several make the loop busy.
            if mailbox.take(into: &messages), messages.count > 1 { isBusy = true }
            handleMessages()
            runJobs()
            if !move() { break }
        }
        expire()
    }

    /// Calls libcurl if its timer is due, and reports the transfers it has finished.
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

    /// Whether there is no transfer, deadline, timer or job, so that only a message can bring work.
    ///
    /// Idle connections need no attention.
    private var hasNothingToDo: Bool {
        assertOnLoop()
        return pool.inUse == 0 && held.isEmpty && deadlines.firstDeadline == nil
            && !executor.hasJobs
            && ccurl_poller_timer(poller) < 0
    }

    /// Returns the time until libcurl's timer or the next deadline, in milliseconds; -1 for no
    /// limit.
    ///
    /// Rounded up, so that the timer or deadline is due after the wait.
    private func sleepTime(until timer: Int64) -> Int32 {
        let deadline = deadlines.firstDeadline ?? -1
        let next = timer < 0 ? deadline : deadline < 0 ? timer : min(timer, deadline)
        guard next >= 0 else { return -1 }
        return Int32(clamping: max(0, (next - ccurl_now_us() + 999) / 1000))
    }

    private func handleMessages() {
        assertOnLoop()
        guard !messages.isEmpty else { return }
        // `popLast` moves no elements, unlike removing the first.
        if messages.count > 1 { messages.reverse() }
        while let message = messages.popLast() {
            // What was sent before a cancel goes out before it.
            if !message.isOrder { sendOrders() }
            handle(message)
        }
        sendOrders()
        if messages.capacity > 4096 { messages = [] }
    }

    private func handle(_ message: LoopMessage) {
        assertOnLoop()
        switch message {
        case .start(let transfer): arrive(transfer)
        case .cancel(let transfer): cancel(transfer)
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
        case .drain: closing.drain()
        case .shutDown(let error): shutDown(error)
        }
    }

    /// Runs the Swift tasks that were resumed on this thread.
    private func runJobs() {
        assertOnLoop()
        guard executor.hasJobs else { return }
        canStartInline = true
        executor.runJobs()
        canStartInline = false
    }

    /// Completes all transfers that libcurl has finished.
    ///
    /// - Returns: Whether there were any.
    func collect() -> Bool {
        assertOnLoop()
        var code = CURLE_OK
        var isNews = false
        while let client = ccurl_multi_next_done(multi, &code) {
            let easy = EasyHandle.from(client)
            guard let transfer = easy.carried else { continue }
            isNews = true
            complete(transfer, easy, code)
        }
        turn.resumeTasks()
        return isNews
    }
}

/// A counter that any thread may read and change.
final class Load: Sendable {
    private let count = Atomic(0)

    /// The count, which other threads may change at any time.
    var value: Int { count.load(ordering: .relaxed) }

    /// Adds one.
    func rise() { count.add(1, ordering: .relaxed) }

    /// Adds one, unless the count is `limit` or more.
    ///
    /// - Returns: Whether one was added.
    func rise(upTo limit: Int) -> Bool {
        guard count.add(1, ordering: .relaxed).oldValue >= limit else { return true }
        fall()
        return false
    }

    /// Subtracts one.
    func fall() { count.subtract(1, ordering: .relaxed) }
}

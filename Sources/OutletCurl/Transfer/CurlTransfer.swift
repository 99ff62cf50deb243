import CCurl
import OutletHTTP
import OutletTransport

/// One transfer: what was asked for, how far it has come, where its answer goes.
final class CurlTransfer: TransferTask, DeadlineEntry, @unchecked Sendable {
    // because everything but `identifier`, `loop` and `request`, which never change, and the atomic
    // `visible` is touched by the loop's thread alone; other threads only post messages that name
    // the transfer.
    // For the same reason release builds do not check exclusive access to what each transfer touches: the
    // checks of all such properties cost 3 % of a transfer's instructions (Benchmarks/count transport).

    /// Where in its life a transfer is.
    enum Phase {
        /// On its way to the loop.
        case posted
        /// Waiting for a place.
        case queued
        /// Suspended before it had a place.
        case held
        /// In the multi handle.
        case active
        /// Over; the handler has been told.
        case finished
    }

    let identifier: UInt64
    /// The loop that runs the transfer; `nil` for one that could not begin.
    let loop: EventLoop?

    let request: HTTPRequest
    let priority: TransferPriority
    /// Whether the request is anything but the plainest kind.
    let mayHaveBody: Bool
    private let visible = VisibleState()
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var extras: TransferExtras?
    /// Let go of when the transfer is over.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private(set) var handler: (any TransferHandler)?

    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var phase = Phase.posted
    /// Why nothing is read and sent.
    var pauses: PauseReasons = []
    var isPaused: Bool { !pauses.isEmpty }
    /// Where the body goes, once the handler has seen the head.
    var delivery: BodyDelivery
    var reportsProgress: Bool
    /// libcurl has been told of the pause.
    var isPauseApplied = false
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var easy: EasyHandle?
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var address: Address?
    /// Whether the server was verified, or nothing has to be.
    var isServerVerified = true
    /// It counts as one of those that its origin may have under way.
    private(set) var hasPlace = true
    /// What it is removed from the admission queue by, while it waits there.
    var ticket = 0

    var deadline: Int64 = 0
    var deadlineIndex = -1
    /// No progress for so long is an error, µs; `nil` for no limit.
    let patience: Int64?
    /// When something last arrived or left, µs; before that, when the transfer came to the loop.
    var lastProgress: Int64 = 0
    /// When the transfer came to the loop, µs.
    var arrived: Int64 = 0
    /// When it got its place, µs.
    var admitted: Int64 = 0
    /// Bytes that had passed at the last look, where no callback tells.
    var bytesSeen: Int64 = 0

    /// The final head.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var response: HTTPResponse?
    /// Whether the final head has come.
    var hasResponse = false
    /// The request has been given to a connection so often.
    var sends = 0
    /// What is known of the last of these connections, and its own port.
    var connection: Boxed<TransferMetrics.Connection>?
    var localPort: Int32 = 0
    /// The connection that it was about to use was not clean; it begins again with another one.
    var wantsOtherConnection = false
    /// A head has come since the request was last sent.
    var wasAnswered = false
    var received: Int64 = 0
    var sent: Int64 = 0
    var expected: Int64 = -1

    init(
        _ job: borrowing TransferJob, link: WebSocketLink? = nil,
        handler: consuming any TransferHandler,
        loop: consuming EventLoop?, patience: Int64?
    ) {
        identifier = TransferIdentifier.next()
        request = job.request
        priority = job.priority
        mayHaveBody = job.request.mayHaveBody
        if link != nil || job.answers != nil {
            extras = TransferExtras(answers: job.answers?.value, link: link)
        }
        delivery = job.delivery
        reportsProgress = job.reportsProgress
        self.patience = patience
        loop?.load.rise()
        self.handler = handler
        self.loop = loop
    }

    var state: TransferState { visible.state }
    var currentRequest: HTTPRequest? { request }

    func cancel() {
        visible.wish(.canceling)
        loop?.post(.cancel(self))
    }

    func suspend() {
        visible.wish(.suspended)
        loop?.post(.suspend(self))
    }

    func resume() {
        visible.wish(.running)
        loop?.post(.resume(self))
    }

    func reportProgress() { loop?.post(.reportProgress(self)) }

    /// Tells the handler that it is over, and lets go of it.
    func finish(_ result: TransferResult, turn: TransportTurn) {
        // A transfer that no loop took is refused by the submitting thread.
        if phase != .posted { loop?.assertOnLoop() }
        guard let handler = handler.take() else { return }
        phase = .finished
        visible.complete()
        loop?.load.fall()
        // Origins are the loop's, so the last of their owners must not be a task that a user keeps.
        address = nil
        link?.abandon(result.error)
        handler.transferDidFinish(self, result: result, turn: turn)
    }

    /// The loop that it was made for has ended before it came there: nothing of it has happened.
    func withdraw() {
        phase = .finished
        handler = nil
        loop?.load.fall()
    }

    /// Whether the answer's body is handed over whole.
    var isCollected: Bool {
        if case .collect = delivery { true } else { false }
    }

    /// Lets others have its place.
    ///
    /// - Returns: Where that is; `nil` when it has none any more.
    func giveUpPlace() -> OriginQueue<CurlTransfer>? {
        loop?.assertOnLoop()
        defer { hasPlace = false }
        return hasPlace ? address?.queue : nil
    }
}

/// Why a transfer is paused.
struct PauseReasons: OptionSet {
    let rawValue: UInt8
    /// The user or the handler wants it.
    static let request = PauseReasons(rawValue: 1)
    /// Who observes the body has not made up its mind.
    static let observer = PauseReasons(rawValue: 2)
}

/// The open file of a download, boxed so that a transfer without one pays nothing.
final class FileSink {
    var file: BodyFile

    init(path: String, offset: Int64) throws(TransferError) {
        file = try BodyFile(path: path, offset: offset)
    }
}

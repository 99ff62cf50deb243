import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

/// One transfer: the request, its progress, and where its response goes.
final class CurlTransfer: TransferTask, DeadlineEntry, @unchecked Sendable {
    // because only the loop's thread uses anything but `identifier`, `loop` and `request`, which
    // never change, and the atomic `visible`. Other threads only post messages that refer to the
    // transfer.
    // For the same reason release builds do not check exclusive access to what each transfer uses:
    // the checks of all such properties cost 3 % of a transfer's instructions (Benchmarks/count
    // transport).

    /// The stages of a transfer's life.
    enum Phase {
        /// Posted to the loop's mailbox, or not accepted by any loop.
        case posted
        /// Waiting for a place among the running transfers.
        case queued
        /// Suspended before it had a place.
        case held
        /// Running in libcurl's multi handle, or an open WebSocket.
        case active
        /// Ended; the handler has been called.
        case finished
    }

    let identifier: UInt64
    /// The loop that runs the transfer; `nil` if it could not be started.
    let loop: EventLoop?

    let request: HTTPRequest
    let priority: TransferPriority
    /// Whether the method is not `GET`, or the request has a body.
    let mayHaveBody: Bool
    private let visible = VisibleState()
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var extras: TransferExtras?
    /// Receives the events; released when the transfer ends.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private(set) var handler: (any TransferHandler)?

    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var phase = Phase.posted
    /// The reasons why the transfer is paused; empty if it is not.
    var pauses: PauseReasons = []
    var isPaused: Bool { !pauses.isEmpty }
    /// Where the body goes; the handler may change it when it receives the head.
    var delivery: BodyDelivery
    var reportsProgress: Bool
    /// Whether `curl_easy_pause` has succeeded, so that the transfer has to be unpaused.
    var isPauseApplied = false
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var easy: EasyHandle?
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var address: Address?
    /// Whether the server was verified, or there is nothing to verify.
    var isServerVerified = true
    /// Whether it counts towards the number of its origin's running transfers.
    private(set) var hasPlace = true
    /// Its ticket in the admission queue while it waits there.
    var ticket = 0

    var deadline: Int64 = 0
    var deadlineIndex = -1
    /// The time limit without progress in µs; `nil` for no limit.
    let patience: Int64?
    /// When data was last received or sent, in µs; before that, when the transfer reached the loop.
    var lastProgress: Int64 = 0
    /// When the transfer reached the loop, in µs.
    var arrived: Int64 = 0
    /// When it got its place, in µs.
    var admitted: Int64 = 0
    /// When libcurl last got it, in µs; libcurl's times begin there.
    var started: Int64 = 0
    /// When its request was last sent, in µs; 0 if libcurl's times suffice (``EventLoop/metrics(of:_:)``).
    var sentAt: Int64 = 0
    /// The size of the request's heads that libcurl has sent before the last one since ``started``.
    var headBytesBefore = 0
    /// The number of body bytes sent at the last check, for bodies that libcurl sends without
    /// callbacks.
    var bytesSeen: Int64 = 0

    /// The final head (not 1xx).
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var response: HTTPResponse?
    /// Whether the final head has been received.
    var hasResponse = false
    /// How often the request has been sent on a connection.
    var sends = 0
    /// ``sends`` when libcurl last got the transfer; it counts the connections it makes from then on.
    var sendsBefore = 0
    /// The last of these connections, and below that its local port.
    var connection: Boxed<TransferMetrics.Connection>?
    var localPort: Int32 = 0
    /// The same, if it is one with HTTP/2 over TLS.
    var multiplexed: Verification?
    /// How often it has been sent again without a response.
    var repeats = 0
    /// How many responses the origin had sent when the request was last sent.
    var answersBefore: UInt32 = 0
    /// How often it has waited again for a stream, because its own ones were refused.
    var waits = 0
    /// Whether the request must not be sent over HTTP/2: the server wants HTTP/1.1
    /// (`HTTP_1_1_REQUIRED`), or libcurl takes a connection with HTTP/1 for one with HTTP/2.
    var needsHTTP1 = false
    /// Whether libcurl picked a connection that must not be used, so that the transfer starts again
    /// with another one.
    var wantsOtherConnection = false
    /// Whether it was paused since the request was last sent.
    var wasSuspended = false
    /// Whether that may also be an idle one.
    var wantsIdleConnection = false
    /// Whether no connection of its origin had a stream for it, so that it waits again.
    var lacksStream = false
    /// Whether it opens a connection whose streams others of its origin wait for.
    var isOpener = false
    /// Whether a head has been received since the request was last sent.
    var wasAnswered = false
    /// Whether the server has not processed the request as it was last sent, which libcurl no
    /// longer shows because the transfer has started again.
    var wasUnprocessed = false
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
        visible.change(to: .canceling)
        loop?.post(.cancel(self))
    }

    func suspend() {
        visible.change(to: .suspended)
        loop?.post(.suspend(self))
    }

    func resume() {
        visible.change(to: .running)
        loop?.post(.resume(self))
    }

    func reportProgress() { loop?.post(.reportProgress(self)) }

    /// Ends the transfer: calls the handler's `transferDidFinish`, and releases the handler and the
    /// observer of the body.
    func finish(_ result: TransferResult, turn: TransportTurn) {
        // The submitting thread ends a transfer that no loop has accepted.
        if phase != .posted { loop?.assertOnLoop() }
        guard let handler = handler.take() else { return }
        phase = .finished
        visible.complete()
        loop?.load.fall()
        // Only the loop's thread may use the origin's queue, so the user's reference to this
        // transfer must not be the last one that keeps it alive.
        address = nil
        link?.abandon(result.error)
        extras?.releaseObserver()
        handler.transferDidFinish(self, result: result, turn: turn)
    }

    /// Discards a transfer whose loop ended before it accepted the transfer: releases the handler,
    /// which is not called, and the observer of the body.
    func withdraw() {
        phase = .finished
        handler = nil
        extras?.releaseObserver()
        loop?.load.fall()
    }

    /// Whether the response's body is collected in memory.
    var isCollected: Bool {
        if case .collect = delivery { true } else { false }
    }

    /// Gives up the transfer's place among the running ones.
    ///
    /// - Returns: The queue of the place; `nil` if it has been given up already.
    func giveUpPlace() -> OriginQueue<CurlTransfer>? {
        loop?.assertOnLoop()
        defer { hasPlace = false }
        return hasPlace ? address?.queue : nil
    }
}

/// Why a transfer is paused.
struct PauseReasons: OptionSet {
    let rawValue: UInt8
    /// The user or the handler has asked for it.
    static let request = PauseReasons(rawValue: 1)
    /// The observer of the body has not decided yet.
    static let observer = PauseReasons(rawValue: 2)
    /// It has received for so long that other transfers must have a turn.
    static let turn = PauseReasons(rawValue: 4)
}

/// The open file of a download, in an object of its own so that other transfers need no space for
/// it.
final class FileSink {
    var file: BodyFile

    init(path: String, offset: Int64) throws(TransferError) {
        file = try BodyFile(path: path, offset: offset)
    }
}

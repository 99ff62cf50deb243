import OutletTransport

/// The bytes that wait for a request's handlers, counted once for each handler.
struct HandlerBacklog: Sendable {
    /// The approximate memory that an item takes beside its content while it waits, in bytes.
    static let itemOverhead = 64

    private var bytes = 0
    /// The attempt that the bytes belong to.
    private var attempt = 0
    /// The number of bytes above which the transfer has to be paused.
    private let limit: Int
    /// Whether the transfer has to be paused: more bytes than the limit have waited, and more than
    /// a quarter of it still do.
    private(set) var isFull = false

    /// Makes an empty backlog.
    ///
    /// - Parameter limit: The number of bytes above which the transfer has to be paused; a negative
    ///   one counts as 0.
    init(limit: Int) {
        // Else a backlog without bytes would be full for ever.
        self.limit = max(0, limit)
    }

    /// Adds bytes that were passed to a number of handlers.
    mutating func add(_ count: Int, handlers: Int, attempt: Int) {
        self.attempt = attempt
        bytes += count * handlers
        if bytes > limit { isFull = true }
    }

    /// Removes bytes that one handler has processed; ignores those of another attempt.
    ///
    /// - Returns: Whether the backlog was full and is not any more.
    mutating func remove(_ count: Int, attempt: Int) -> Bool {
        guard self.attempt == attempt else { return false }
        bytes -= count
        guard isFull, bytes <= limit / 4 else { return false }
        isFull = false
        return true
    }

    /// Resets the count, because the attempt is over.
    mutating func forget() {
        self = HandlerBacklog(limit: limit)
        attempt = -1
    }
}

extension Request {
    /// Returns whether the transport pauses after bytes were passed to handlers; needed only if the
    /// backlog was full then.
    ///
    /// - Parameter isFull: Called under the request's lock.
    func makePeerWait(if isFull: () -> Bool) -> TransferDecision {
        mutable.withLock { mutable in
            guard isFull() else { return .proceed }
            mutable.machine.hold(.backPressure)
            return .pause
        }
    }

    /// Continues a paused transfer when the backlog is not full any more.
    ///
    /// - Parameter isFull: Called under the request's lock.
    func letPeerGoOn(on task: any TransferTask, attempt: Int, unless isFull: () -> Bool) {
        let goesOn = mutable.withLock { mutable in
            !isFull() && mutable.machine.holds.contains(.backPressure)
        }
        if goesOn { release(.backPressure, of: task, attempt: attempt) }
    }
}

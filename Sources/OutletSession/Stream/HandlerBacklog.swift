import OutletTransport

/// The bytes that wait for a request's handlers, counted once for each handler.
struct HandlerBacklog: Sendable {
    private var bytes = 0
    /// The attempt that the bytes belong to.
    private var attempt = 0

    /// Adds bytes that were passed to a number of handlers.
    mutating func add(_ count: Int, handlers: Int, attempt: Int) {
        self.attempt = attempt
        bytes += count * handlers
    }

    /// Removes bytes that one handler has processed.
    ///
    /// - Returns: Whether they belong to the current attempt.
    mutating func remove(_ count: Int, attempt: Int) -> Bool {
        guard self.attempt == attempt else { return false }
        bytes -= count
        return true
    }

    /// Resets the count, because the attempt is over.
    mutating func forget() {
        bytes = 0
        attempt = -1
    }

    /// Whether the transfer has to be paused.
    func isFull(_ configuration: SessionConfiguration) -> Bool {
        bytes > configuration.streamBufferSize
    }

    /// Whether a paused transfer may continue.
    func isLow(_ configuration: SessionConfiguration) -> Bool {
        bytes <= configuration.streamBufferSize / 4
    }
}

extension Request {
    /// Returns whether the transport pauses after bytes were passed to handlers.
    ///
    /// - Parameter isFull: Called under the request's lock.
    func makePeerWait(if isFull: () -> Bool) -> TransferDecision {
        mutable.withLock { mutable in
            guard isFull() else { return .proceed }
            mutable.machine.hold(.backPressure)
            return .pause
        }
    }

    /// Continues a paused transfer when few bytes are left.
    ///
    /// - Parameter isLow: Called under the request's lock.
    func letPeerGoOn(on task: any TransferTask, attempt: Int, if isLow: () -> Bool) {
        let goesOn = mutable.withLock { mutable in
            isLow() && mutable.machine.holds.contains(.backPressure)
        }
        if goesOn { release(.backPressure, of: task, attempt: attempt) }
    }
}

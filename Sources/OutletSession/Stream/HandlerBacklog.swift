import OutletTransport

/// Bytes that lie before a request's handlers, counted once for each.
struct HandlerBacklog: Sendable {
    private var bytes = 0
    /// The attempt that they belong to.
    private var attempt = 0

    /// So many bytes were given to so many handlers.
    mutating func add(_ count: Int, handlers: Int, attempt: Int) {
        self.attempt = attempt
        bytes += count * handlers
    }

    /// One handler is done with so many bytes.
    ///
    /// - Returns: Whether they still counted.
    mutating func remove(_ count: Int, attempt: Int) -> Bool {
        guard self.attempt == attempt else { return false }
        bytes -= count
        return true
    }

    /// What lies there belongs to an attempt that is over.
    mutating func forget() {
        bytes = 0
        attempt = -1
    }

    /// Whether the peer has to wait.
    func isFull(_ configuration: SessionConfiguration) -> Bool {
        bytes > configuration.streamBufferSize
    }

    /// Whether it may go on.
    func isLow(_ configuration: SessionConfiguration) -> Bool {
        bytes <= configuration.streamBufferSize / 4
    }
}

extension Request {
    /// What the transport is to do after bytes were given to handlers.
    ///
    /// - Parameter isFull: Asked under the request's lock.
    func makePeerWait(if isFull: () -> Bool) -> TransferDecision {
        mutable.withLock { mutable in
            guard isFull() else { return .proceed }
            mutable.machine.hold(.backPressure)
            return .pause
        }
    }

    /// Goes on once few bytes are left.
    ///
    /// - Parameter isLow: Asked under the request's lock.
    func letPeerGoOn(on task: any TransferTask, attempt: Int, if isLow: () -> Bool) {
        let goesOn = mutable.withLock { mutable in
            isLow() && mutable.machine.holds.contains(.backPressure)
        }
        if goesOn { release(.backPressure, of: task, attempt: attempt) }
    }
}

import OutletSession

/// What other threads ask of a loop.
enum LoopMessage {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case suspend(CurlTransfer)
    case resume(CurlTransfer)
    case reportProgress(CurlTransfer)
    /// Something to do with a WebSocket.
    case order(WebSocketOrder)
    /// A piece of a Swift task wants to run on the loop's thread.
    case run(UnownedJob)
    /// No more will come; the loop ends when it has nothing left to do.
    case drain
    /// All transfers end now, then the loop does.
    case shutDown
}

/// The way into a loop: messages from any thread, taken in batches by the one that drives it.
///
/// The sender of a message wakes the driver only when it sleeps, so that a burst of a thousand
/// requests costs one wake. A loop that nobody drives is parked; whoever sends it a message sees
/// to it that somebody does.
final class Mailbox: Sendable {
    private enum Driver {
        case none, awake, asleep, over
    }

    private struct State {
        var messages: [LoopMessage] = []
        var driver = Driver.none
        var hasForeign = false
    }

    /// What became of a message.
    enum Reply {
        /// Taken; the driver sees it by itself.
        case accepted
        /// Taken, and the driver has to be woken.
        case wake
        /// Taken, and the sender has to find the loop a driver: it is the sender's until then.
        case drive
        /// Refused: the loop has ended.
        case closed
    }

    private let state = Lock(State())

    /// Adds a message behind all others: what is cancelled or resumed must have been started first.
    ///
    /// - Parameter isOwn: Whether the sender is the driver, in a handler.
    func post(_ message: LoopMessage, isOwn: Bool = false) -> Reply {
        state.withLock { state in
            if !isOwn { state.hasForeign = true }
            switch state.driver {
            case .over: return .closed
            case .awake:
                state.messages.append(message)
                return .accepted
            case .asleep:
                state.messages.append(message)
                state.driver = .awake
                return .wake
            case .none:
                state.messages.append(message)
                state.driver = .awake
                return .drive
            }
        }
    }

    /// Takes all messages in exchange for an empty array, whose capacity is used again.
    ///
    /// - Returns: Whether other threads have sent any of them.
    func take(into messages: inout [LoopMessage]) -> Bool {
        state.withLock { state in
            state.driver = .awake
            swap(&state.messages, &messages)
            defer { state.hasForeign = false }
            return state.hasForeign
        }
    }

    /// Says that the driver is about to sleep.
    ///
    /// - Returns: Whether it may; not when a message has come in between.
    func fallAsleep() -> Bool {
        leave(.asleep)
    }

    /// Says that the driver stops driving.
    ///
    /// - Returns: Whether it may; not when a message has come in between.
    func park() -> Bool {
        leave(.none)
    }

    /// Refuses messages from here on.
    ///
    /// - Returns: False, and nothing changes, when a message has come in between.
    func close() -> Bool {
        leave(.over)
    }

    private func leave(_ driver: Driver) -> Bool {
        state.withLock { state in
            guard state.messages.isEmpty else { return false }
            state.driver = driver
            return true
        }
    }
}

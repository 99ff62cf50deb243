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
/// to it that somebody does. A loop that has nothing to do may be lent to a sender, who does the
/// first work on its own thread.
final class Mailbox: Sendable {
    private enum Driver {
        /// Nobody drives.
        case none
        case awake
        /// It waits for sockets.
        case asleep
        /// It has nothing to wait for.
        case dozing
        /// A sender drives in its place.
        case lent
        case over
    }

    private struct State {
        var messages: [LoopMessage] = []
        var driver = Driver.none
        /// Who drives when the loop is given back.
        var lender = Driver.none
        var hasForeign = false
    }

    /// What became of a message.
    enum Reply {
        /// Taken; the driver sees it by itself.
        case accepted
        /// Taken, and the driver has to be woken.
        case wake
        /// Taken, and the driver has to be roused from its doze.
        case rouse
        /// Taken, and the sender has to find the loop a driver: it is the sender's until then.
        case drive
        /// Not taken: the loop is the sender's to work on, until it is given back.
        case lent
        /// Refused: the loop has ended.
        case closed
    }

    private let state = Lock(State())

    /// Adds a message behind all others: what is cancelled or resumed must have been started first.
    ///
    /// - Parameters:
    ///   - isOwn: Whether the sender is the driver, in a handler.
    ///   - mayBorrow: Whether the sender would rather do the work itself.
    func post(_ message: LoopMessage, isOwn: Bool = false, mayBorrow: Bool = false) -> Reply {
        state.withLock { state in
            if mayBorrow, state.driver == .dozing || state.driver == .none {
                state.lender = state.driver
                state.driver = .lent
                return .lent
            }
            let reply: Reply
            switch state.driver {
            case .over: return .closed
            case .awake, .lent: reply = .accepted
            case .asleep: reply = .wake
            case .dozing: reply = .rouse
            case .none: reply = .drive
            }
            if !isOwn { state.hasForeign = true }
            if reply != .accepted { state.driver = .awake }
            state.messages.append(message)
            return reply
        }
    }

    /// Takes a loop back that was lent.
    ///
    /// - Parameter isIdle: Whether nothing is under way.
    /// - Returns: What the borrower has to do, as for a message of its own.
    func giveBack(isIdle: Bool) -> Reply {
        state.withLock { state in
            if isIdle, state.messages.isEmpty {
                state.driver = state.lender
                return .accepted
            }
            state.driver = .awake
            return state.lender == .none ? .drive : .rouse
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

    /// Says that the driver is about to wait for sockets.
    ///
    /// - Returns: Whether it may; not when a message has come in between.
    func fallAsleep() -> Bool {
        leave(.asleep)
    }

    /// Says that the driver has nothing to wait for.
    ///
    /// - Returns: Whether it may doze; not when a message has come in between.
    func doze() -> Bool {
        leave(.dozing)
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

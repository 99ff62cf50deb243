import OutletSession

/// What other threads ask of a loop.
enum LoopMessage {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case suspend(CurlTransfer)
    case resume(CurlTransfer)
    case reportProgress(CurlTransfer)
    /// No more will come; the loop ends when it has nothing left to do.
    case drain
    /// All transfers end now, then the loop does.
    case shutDown
}

/// The way into a loop: messages from any thread, taken in batches by the loop's own.
///
/// The sender of a message wakes the loop only when it sleeps, so that a burst of a thousand
/// requests costs one wake.
final class Mailbox: Sendable {
    private struct State {
        var messages: [LoopMessage] = []
        var isAsleep = false
        var isClosed = false
    }

    /// What became of a message.
    enum Reply {
        /// Taken; the loop sees it by itself.
        case accepted
        /// Taken, and the loop has to be woken.
        case wake
        /// Refused: the loop has ended.
        case closed
    }

    private let state = Lock(State())

    /// Adds a message.
    func post(_ message: LoopMessage) -> Reply {
        state.withLock { state in
            guard !state.isClosed else { return .closed }
            state.messages.append(message)
            guard state.isAsleep else { return .accepted }
            state.isAsleep = false
            return .wake
        }
    }

    /// Takes all messages in exchange for an empty array, whose capacity is used again.
    func take(into messages: inout [LoopMessage]) {
        state.withLock { state in
            state.isAsleep = false
            swap(&state.messages, &messages)
        }
    }

    /// Says that the loop is about to sleep.
    ///
    /// - Returns: Whether it may; not when a message has come in between.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.messages.isEmpty
            return state.isAsleep
        }
    }

    /// Refuses messages from here on, if none is waiting.
    func close() -> Bool {
        state.withLock { state in
            state.isClosed = state.messages.isEmpty
            return state.isClosed
        }
    }
}

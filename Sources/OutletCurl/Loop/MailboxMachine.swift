/// The messages of a loop and which thread drives it, as a value: no lock, no system call, no clock.
///
/// Each method is one transition. Its result says what the calling thread has to do once the lock of
/// the owner is released. `post` is for any thread; all others are for the driver alone, that is,
/// for the one thread that runs the loop's code at the time.
struct MailboxMachine<Message> {
    /// Which thread drives the loop.
    ///
    ///     post                  undriven → running        the sender finds a driver
    ///                           polling, parked → running the sender wakes the driver
    ///                           running, callerRuns stay  the driver sees the message by itself
    ///                           closed stays              the message is refused
    ///     post, mayRunOnCaller  undriven, parked → callerRuns
    ///     returnFromCaller      callerRuns → the state before, or → running with work left
    ///     take                  polling, parked → running
    ///     poll, park            running → polling, parked, unless messages are there
    ///     release               running → undriven, unless messages are there
    ///     close                 running → closed, unless messages are there
    enum State: Equatable {
        /// No thread drives the loop, and it has nothing to do.
        case undriven
        /// A thread runs the loop's code; it takes the messages before it waits again. Also from the
        /// moment a sender is asked to wake, or to find, a driver until that thread runs.
        case running
        /// The driver waits for sockets and timers (`epoll_wait`).
        case polling
        /// The driver waits to be unparked; sockets and timers do not end this wait.
        case parked
        /// The thread that submitted a transfer runs it in place of the driver.
        case callerRuns(before: Idle)
        /// The loop has ended. Final.
        case closed
    }

    /// The states of a loop that has nothing to do.
    enum Idle: Equatable {
        case undriven, parked
    }

    /// What a sender has to do.
    enum Action: Equatable {
        /// Nothing: the message is taken, and the driver sees it by itself.
        case none
        /// The message is taken; wake the driver from its wait for sockets.
        case wake
        /// The message is taken; unpark the driver.
        case unpark
        /// The message is taken; find a thread that drives the loop. Until it does, nobody else will.
        case drive
        /// The message is not taken: do the work on this thread, then `returnFromCaller`.
        case runOnCaller
        /// The message is refused: the loop has ended.
        case refuse
    }

    private(set) var state = State.undriven
    private(set) var messages: [Message] = []
    /// Whether any of the messages is from a thread that does not drive the loop.
    private(set) var hasForeign = false

    // MARK: Any thread

    /// Adds a message behind all others: a transfer's start stays before its cancel.
    ///
    /// - Parameters:
    ///   - isDriver: Whether the sender drives the loop.
    ///   - mayRunOnCaller: Whether the sender does the work itself if the loop has nothing to do.
    mutating func post(
        _ message: Message, isDriver: Bool = false, mayRunOnCaller: Bool = false
    ) -> Action {
        let action: Action
        switch state {
        case .running, .callerRuns:
            action = .none
        case .polling:
            state = .running
            action = .wake
        case .parked:
            if mayRunOnCaller {
                state = .callerRuns(before: .parked)
                return .runOnCaller
            }
            state = .running
            action = .unpark
        case .undriven:
            if mayRunOnCaller {
                state = .callerRuns(before: .undriven)
                return .runOnCaller
            }
            state = .running
            action = .drive
        case .closed:
            return .refuse
        }
        if !isDriver { hasForeign = true }
        messages.append(message)
        return action
    }

    // MARK: The driver

    /// The submitting thread has done what it could without waiting.
    ///
    /// - Parameter isIdle: Whether the loop has nothing to do.
    /// - Returns: What that thread has to do, as for a message of its own.
    mutating func returnFromCaller(isIdle: Bool) -> Action {
        guard case .callerRuns(let before) = state else {
            assertionFailure("returned from a caller in state \(state)")
            return .none
        }
        guard isIdle, messages.isEmpty else {
            state = .running
            return before == .undriven ? .drive : .unpark
        }
        state = before == .undriven ? .undriven : .parked
        return .none
    }

    /// Takes all messages in exchange for an empty array, whose capacity is used again.
    ///
    /// - Returns: Whether other threads have sent any of them.
    mutating func take(into taken: inout [Message]) -> Bool {
        assert(taken.isEmpty, "messages are lost")
        assert(state.hasDriver, "messages taken in state \(state)")
        state = .running
        swap(&messages, &taken)
        defer { hasForeign = false }
        return hasForeign
    }

    /// The driver is about to wait for sockets.
    ///
    /// - Returns: Whether it may; not when a message has come in between.
    mutating func poll() -> Bool { leave(for: .polling) }

    /// The driver is about to wait until it is unparked.
    ///
    /// - Returns: Whether it may; not when a message has come in between.
    mutating func park() -> Bool { leave(for: .parked) }

    /// The driver is about to leave a loop that has nothing to do.
    ///
    /// - Returns: Whether it may; not when a message has come in between.
    mutating func release() -> Bool { leave(for: .undriven) }

    /// The loop is about to end: messages are refused from here on.
    ///
    /// - Returns: Whether it may; not when a message has come in between.
    mutating func close() -> Bool { leave(for: .closed) }

    private mutating func leave(for next: State) -> Bool {
        assert(state.hasDriver, "\(next) after \(state)")
        guard messages.isEmpty else { return false }
        state = next
        return true
    }
}

extension MailboxMachine.State {
    /// Whether the loop's driver may call: it comes back from a wait without saying so.
    fileprivate var hasDriver: Bool {
        switch self {
        case .running, .polling, .parked: true
        case .undriven, .callerRuns, .closed: false
        }
    }
}

/// The messages of a loop and which thread drives it, as a value without locks, system calls or
/// clocks.
///
/// Each method is one state transition. Its result says what the calling thread has to do after it
/// has released the owner's lock. Any thread may call `post`. Only the driver, the one thread that
/// runs the loop's code at the time, may call the other methods.
struct MailboxMachine<Message> {
    /// Which thread drives the loop.
    ///
    ///     post                  undriven → running        the sender finds a driver
    ///                           polling, parked → running the sender wakes the driver, unless it
    ///                                                     is the driver, which has woken already
    ///                           running, callerRuns,      the driver sees the message by itself
    ///                           inHandlers stay
    ///                           closed stays              the message is refused
    ///     post, mayRunOnCaller  undriven, parked → callerRuns
    ///     returnFromCaller      callerRuns → the state before, or → running with work left
    ///     take                  polling, parked → running
    ///     poll, park            running → polling, parked, unless messages are there
    ///     release               running → undriven, unless messages are there
    ///     close                 running → closed, unless messages are there
    ///     enterHandlers         running → inHandlers, unless a relieved driver is still in its own
    ///     returnFromHandlers    inHandlers → running; all others stay, the caller was relieved
    ///     relieve               inHandlers → running, if they are still the ones that the timer
    ///                           was set for: the standby thread drives from now on
    enum State: Equatable {
        /// No thread drives the loop, and it has nothing to do.
        case undriven
        /// A thread runs the loop's code, and takes the messages before it waits again.
        ///
        /// The state changes to this one when a sender is asked to wake, or to provide, a driver,
        /// before that thread runs.
        case running
        /// The driver waits for sockets and timers (`epoll_wait`), or handles those that are ready.
        case polling
        /// The driver waits to be unparked; sockets and timers do not end this wait.
        case parked
        /// The driver runs the handlers of a session and cannot drive; if they take long, the
        /// standby thread drives in its place.
        case inHandlers
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
        /// The message is taken; provide a thread that drives the loop, because no other thread
        /// will.
        case drive
        /// The message is not taken: do the work on this thread, then `returnFromCaller`.
        case runOnCaller
        /// The message is refused: the loop has ended.
        case refuse
    }

    /// What a driver that has handlers to run has to do.
    enum Entry: Equatable {
        /// Run them.
        case enter
        /// Set the timer of the standby thread to its shortest time, doubled so many times, then
        /// run them.
        case enterAfterSettingTimer(doubled: Int)
        /// Let others run them: no thread could relieve this one.
        case refuse
    }

    /// What the standby thread has to do when its timer has expired.
    enum Relief: Equatable {
        /// Drive the loop from now on.
        case drive
        /// Set the timer to its shortest time, doubled so many times, and wait, because the driver
        /// enters handlers often.
        case setTimer(doubled: Int)
        /// Wait until the driver sets the timer.
        case wait
        /// End: the loop has ended.
        case end
    }

    private(set) var state = State.undriven
    /// Whether a driver that was relieved has not returned from its handlers.
    private(set) var hasRelieved = false
    /// Whether the timer of the standby thread is set.
    ///
    /// It stays set from one entry of handlers to the next: to set a timer for each entry may cost
    /// more than the handlers do.
    private(set) var hasTimer = false
    /// How often the driver has entered handlers, and how often it had when the timer was set.
    private var entries = 0
    private var timedEntries = 0
    /// How often the time of the timer is doubled: once for each expiry that found no long handlers,
    /// up to ``maximumDoublings``.
    ///
    /// An expiry interrupts a processor, which costs as much as several requests.
    private var doublings = 0
    static var maximumDoublings: Int { 4 }
    private(set) var messages: [Message] = []
    /// Whether a thread other than the driver has sent any of the messages.
    private(set) var hasForeign = false

    // MARK: Any thread

    /// Appends a message, so a transfer's start stays before its cancel.
    ///
    /// - Parameters:
    ///   - isDriver: Whether the sender drives the loop.
    ///   - mayRunOnCaller: Whether the sender can run the loop itself if it has nothing to do.
    /// - Returns: What the sender has to do.
    mutating func post(
        _ message: Message, isDriver: Bool = false, mayRunOnCaller: Bool = false
    ) -> Action {
        let action: Action
        switch state {
        case .running, .inHandlers, .callerRuns:
            action = .none
        case .polling:
            state = .running
            action = isDriver ? .none : .wake
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

    /// Ends the run of the submitting thread, which has done all it could without waiting.
    ///
    /// - Parameter isIdle: Whether the loop has nothing to do.
    /// - Returns: What that thread has to do, as in ``post(_:isDriver:mayRunOnCaller:)``.
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

    /// Swaps all messages for an empty array, whose capacity is reused.
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

    /// Before the driver waits for sockets.
    ///
    /// - Returns: Whether it may wait; false if there are messages.
    mutating func poll() -> Bool { leave(for: .polling) }

    /// Before the driver waits until it is unparked.
    ///
    /// - Returns: Whether it may wait; false if there are messages.
    mutating func park() -> Bool { leave(for: .parked) }

    /// Before the driver leaves a loop that has nothing to do.
    ///
    /// - Returns: Whether it may leave; false if there are messages.
    mutating func release() -> Bool { leave(for: .undriven) }

    /// Before the driver runs the handlers of a session.
    mutating func enterHandlers() -> Entry {
        assert(state == .running, "handlers entered in state \(state)")
        guard !hasRelieved else { return .refuse }
        state = .inHandlers
        entries &+= 1
        if hasTimer { return .enter }
        hasTimer = true
        timedEntries = entries
        return .enterAfterSettingTimer(doubled: doublings)
    }

    /// The timer could not be set after ``enterHandlers()``.
    mutating func loseTimer() { hasTimer = false }

    /// The thread that called ``enterHandlers()`` is back.
    ///
    /// - Returns: Whether it still drives the loop; false if it was relieved.
    mutating func returnFromHandlers() -> Bool {
        if hasRelieved {
            hasRelieved = false
            return false
        }
        state = .running
        return true
    }

    /// Before the loop ends; messages are refused from then on.
    ///
    /// - Returns: Whether it may end; false if there are messages.
    mutating func close() -> Bool { leave(for: .closed) }

    // MARK: The standby thread

    /// Lets the standby thread drive the loop if the driver has been in the same handlers since the
    /// timer was set.
    mutating func relieve() -> Relief {
        if state == .closed { return .end }
        hasTimer = false
        guard state == .inHandlers else {
            doublings = min(doublings + 1, Self.maximumDoublings)
            return entries &- timedEntries > 1 ? setTimer(doubled: doublings) : .wait
        }
        guard entries == timedEntries else { return setTimer(doubled: 0) }
        doublings = 0
        state = .running
        hasRelieved = true
        return .drive
    }

    private mutating func setTimer(doubled: Int) -> Relief {
        hasTimer = true
        timedEntries = entries
        return .setTimer(doubled: doubled)
    }

    private mutating func leave(for next: State) -> Bool {
        assert(state.hasDriver, "\(next) after \(state)")
        guard messages.isEmpty else { return false }
        state = next
        return true
    }
}

extension MailboxMachine.State {
    /// Whether the driver may call in this state.
    ///
    /// Includes the waits, because the driver does not report when it returns from one.
    fileprivate var hasDriver: Bool {
        switch self {
        case .running, .polling, .parked: true
        case .undriven, .inHandlers, .callerRuns, .closed: false
        }
    }
}

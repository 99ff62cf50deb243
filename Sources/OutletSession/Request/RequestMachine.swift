/// The state machine of a request, as a value; its methods return what the owner must do next.
///
/// Asynchronous work (adapters, transfers, retriers) carries the number of its attempt; results for
/// an attempt that is over are dropped.
struct RequestMachine: Sendable {
    /// The phase of the request's work, independent of its state.
    enum Phase: Equatable, Sendable {
        /// Nothing was started.
        case idle
        /// The session's middleware is running, before, between or after the attempts.
        case intercepting
        /// The request is being made and adapted.
        case settingUp
        /// Ready to be sent, but suspended.
        case ready
        /// A transfer is running.
        case transferring
        /// Validators and retriers are running.
        case evaluating
        /// Waiting for the delay of a retry.
        case waitingToRetry
        /// The session's ``OutcomeMiddleware`` is running, after the attempts.
        case judging
        /// Serializers are running.
        case finishing
        /// Everything is done.
        case finished
    }

    /// What the owner must do after unlocking.
    enum Action: Equatable, Sendable {
        case nothing
        case setUp(attempt: Int)
        case startTransfer
        case resumeTransfer
        case suspendTransfer
        case cancelTransfer
        case endWait
        case finish
    }

    private(set) var state = Request.State.initialized
    private(set) var phase = Phase.idle
    /// How often the request was set up; asynchronous results carry this number.
    private(set) var attempt = 0
    private(set) var retryCount = 0
    /// How many redirects were followed in this attempt.
    private(set) var redirects = 0
    /// Why the transfer is paused besides `suspend()`.
    private(set) var holds: TransferHolds = []
    /// Whether a retrier is being called for a serializer's failure.
    private(set) var isConsulting = false
    /// Whether the file of a download is being moved or kept, which a cancel waits for.
    private var isPlacing = false
    /// Whether the ``OutcomeMiddleware`` is to be called with the outcome of the attempts.
    private var isJudged = false

    /// Whether the attempt is the current one and in this phase, so that its results count.
    func isCurrent(_ attempt: Int, in phase: Phase) -> Bool {
        self.attempt == attempt && self.phase == phase
    }

    // MARK: Methods of the request

    /// Returns `nil` if the state does not change.
    mutating func resume() -> Action? {
        guard state == .initialized || state == .suspended else { return nil }
        state = .resumed
        switch phase {
        case .idle: return setUpAgain()
        case .ready:
            phase = .transferring
            return .startTransfer
        case .transferring: return .resumeTransfer
        default: return .nothing
        }
    }

    /// Returns `nil` if the state does not change.
    mutating func suspend() -> Action? {
        guard state == .initialized || state == .resumed, phase < .finishing else { return nil }
        state = .suspended
        return phase == .transferring ? .suspendTransfer : .nothing
    }

    /// Returns `nil` if the state does not change.
    mutating func cancel() -> Action? {
        guard state != .cancelled, state != .finished, phase < .finishing || isConsulting else {
            return nil
        }
        state = .cancelled
        if endConsulting() { return .endWait }
        if phase == .transferring { return .cancelTransfer }
        if phase == .ready {
            // The transfer is started and cancelled, so that it has metrics.
            phase = .transferring
            return .startTransfer
        }
        return !isPlacing && beginFinishing() ? .finish : .nothing
    }

    /// Sets the request up before it is resumed; has no effect if it was set up already, or
    /// cancelled.
    mutating func setUpAhead() -> Action {
        phase == .idle && state != .cancelled ? setUpAgain() : .nothing
    }

    // MARK: Reports of the pipeline

    /// The request is made; the middleware starts.
    mutating func beginIntercepting(attempt: Int) -> Bool {
        guard isCurrent(attempt, in: .settingUp) else { return false }
        phase = .intercepting
        return true
    }

    /// The middleware calls `next`.
    ///
    /// - Returns: The number of the first attempt; `nil` if an attempt is running, or after a
    ///   cancel.
    mutating func proceed() -> Int? {
        guard phase == .intercepting, state != .cancelled else { return nil }
        resetTransfer()
        attempt += 1
        phase = .settingUp
        return attempt
    }

    /// The ``OutcomeMiddleware`` is to be called with the outcome of the attempts.
    mutating func expectJudgement() { isJudged = true }

    /// The last attempt is over.
    ///
    /// - Returns: Whether the ``OutcomeMiddleware`` gets the outcome: not after a cancel, nor a
    ///   second time.
    mutating func beginJudging() -> Bool {
        guard isJudged, state != .cancelled, phase < .judging else { return false }
        isJudged = false
        phase = .judging
        return true
    }

    /// The request ends without ``beginJudging()``.
    ///
    /// - Returns: Whether the ``OutcomeMiddleware`` has not been called for it yet.
    mutating func skipJudging() -> Bool {
        defer { isJudged = false }
        return isJudged
    }

    /// The last attempt is over.
    ///
    /// - Returns: Whether the middleware gets the result: not after a cancel, nor a second time.
    mutating func endAttempts() -> Bool {
        guard state != .cancelled, phase != .intercepting, phase < .finishing else { return false }
        phase = .intercepting
        return true
    }

    /// The request is ready to be sent.
    mutating func didSetUp(attempt: Int) -> Action {
        guard isCurrent(attempt, in: .settingUp) else { return .nothing }
        guard state == .resumed else {
            phase = .ready
            return .nothing
        }
        phase = .transferring
        return .startTransfer
    }

    // MARK: The transfer

    /// Whether the attempt may continue with another transfer: a redirect's next hop.
    func mayProceed(attempt: Int) -> Bool {
        isCurrent(attempt, in: .transferring) && state != .cancelled
    }

    /// The wanted state of the current transfer.
    enum WantedTransferState: Equatable, Sendable {
        case run
        case wait
        /// Unchanged: the transfer is on hold, or is about to end.
        case none
    }

    /// The wanted state of the current transfer.
    var wantedTransferState: WantedTransferState {
        switch state {
        case .resumed: holds.isEmpty ? .run : .none
        case .suspended: .wait
        case .initialized, .cancelled, .finished: .none
        }
    }

    /// A redirect is followed.
    mutating func beginHop() { redirects += 1 }

    /// Puts the transfer on hold.
    mutating func hold(_ reason: TransferHolds) { holds.insert(reason) }

    /// Removes a hold.
    ///
    /// - Returns: Whether the transfer continues.
    mutating func release(_ reason: TransferHolds, attempt: Int) -> Bool {
        guard isCurrent(attempt, in: .transferring) else { return false }
        holds.remove(reason)
        return holds.isEmpty && state == .resumed
    }

    /// Resets the state of the transfer for another attempt.
    private mutating func resetTransfer() {
        redirects = 0
        holds = []
    }

    /// The transfer, or the setup, has ended; validation and retries follow.
    mutating func beginEvaluating(attempt: Int) -> Bool {
        guard self.attempt == attempt, phase < .evaluating else { return false }
        phase = .evaluating
        return true
    }

    /// The file of a download is about to be moved to its destination, or kept for later.
    ///
    /// - Returns: Whether it may be; otherwise a cancel has finished the request, which removes the
    ///   file.
    mutating func beginPlacing() -> Bool {
        isPlacing = phase == .evaluating
        return isPlacing
    }

    /// A cancel does not wait any longer.
    ///
    /// - Returns: Whether there was none since ``beginPlacing()``, or before.
    mutating func endPlacing() -> Bool {
        isPlacing = false
        return state != .cancelled
    }

    /// A retrier requests another attempt, after an attempt or a serialization failure.
    mutating func willRetry(attempt: Int) -> Bool {
        guard self.attempt == attempt, phase == .evaluating || phase == .finishing,
            state != .cancelled
        else { return false }
        phase = .waitingToRetry
        resetTransfer()
        return true
    }

    /// Retriers are about to be called for a serialization failure.
    mutating func beginConsulting() {
        isConsulting = state != .cancelled && phase == .finishing
    }

    /// The retriers have answered, or their answer is not needed any more.
    ///
    /// - Returns: Whether it was needed until now.
    mutating func endConsulting() -> Bool {
        defer { isConsulting = false }
        return isConsulting
    }

    /// The delay before the next attempt is over.
    mutating func retryNow(attempt: Int) -> Action {
        guard isCurrent(attempt, in: .waitingToRetry) else { return .nothing }
        retryCount += 1
        return setUpAgain()
    }

    /// Returns `true` to the first caller, which has to finish the request.
    mutating func beginFinishing() -> Bool {
        guard phase < .finishing else { return false }
        phase = .finishing
        return true
    }

    /// The completion handlers are about to be called.
    mutating func didFinish() {
        phase = .finished
        if state != .cancelled { state = .finished }
    }

    /// A handler was added; if the request has finished, only the new handler runs.
    ///
    /// - Returns: Whether the request had finished.
    mutating func reopen() -> Bool {
        guard phase == .finished else { return false }
        phase = .finishing
        if state == .finished { state = .resumed }
        return true
    }

    private mutating func setUpAgain() -> Action {
        attempt += 1
        phase = .settingUp
        return .setUp(attempt: attempt)
    }
}

extension RequestMachine.Phase: Comparable {
    /// The order of the phases; a retry goes back.
    private var order: Int {
        switch self {
        case .idle: 0
        case .intercepting: 1
        case .settingUp: 2
        case .ready: 3
        case .transferring: 4
        case .evaluating: 5
        case .waitingToRetry: 6
        case .judging: 7
        case .finishing: 8
        case .finished: 9
        }
    }

    static func < (a: Self, b: Self) -> Bool { a.order < b.order }
}

/// Why a transfer is paused besides `suspend()`.
struct TransferHolds: OptionSet, Sendable {
    let rawValue: UInt8
    /// An `onHTTPResponse` closure has not decided yet.
    static let judgement = TransferHolds(rawValue: 1)
    /// The handlers have too many bytes to process.
    static let backPressure = TransferHolds(rawValue: 2)
}

/// The life of a request as a value: what state it is in, and what its owner must do next.
///
/// Work that answers later (an adapter, a transfer, a retrier) carries the number of the attempt
/// it belongs to; an answer for an attempt that is over is dropped.
struct RequestMachine: Sendable {
    /// Where the request's own work stands, whatever its owner has asked for.
    enum Phase: Equatable, Sendable {
        /// Nothing was begun.
        case idle
        /// The session's middleware is at work, before, between or after the attempts.
        case intercepting
        /// The request is being made and adapted.
        case settingUp
        /// Ready to be sent, but suspended.
        case ready
        /// A transfer is under way.
        case transferring
        /// Validators and retriers are at work.
        case evaluating
        /// A retry waits for its time.
        case waitingToRetry
        /// Serializers are at work.
        case finishing
        /// All is done.
        case finished
    }

    /// What the owner must do once the lock is released.
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
    /// How often the request was set up; answers carry it.
    private(set) var attempt = 0
    private(set) var retryCount = 0
    /// How many redirects this attempt has followed.
    private(set) var redirects = 0
    /// Why the transfer waits besides the user's own suspending.
    private(set) var holds: TransferHolds = []
    /// Whether a retrier is being asked about a serializer's failure.
    private(set) var isConsulting = false

    /// Whether an answer for that attempt still matters.
    func isCurrent(_ attempt: Int, in phase: Phase) -> Bool {
        self.attempt == attempt && self.phase == phase
    }

    // MARK: What the user asks for

    /// `nil` when the state does not change.
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

    /// `nil` when the state does not change.
    mutating func suspend() -> Action? {
        guard state == .initialized || state == .resumed, phase < .finishing else { return nil }
        state = .suspended
        return phase == .transferring ? .suspendTransfer : .nothing
    }

    /// `nil` when the state does not change.
    mutating func cancel() -> Action? {
        guard state != .cancelled, state != .finished, phase < .finishing || isConsulting else {
            return nil
        }
        state = .cancelled
        if endConsulting() { return .endWait }
        if phase == .transferring { return .cancelTransfer }
        if phase == .ready {
            // The transfer is begun and cancelled, so that it is measured as any other.
            phase = .transferring
            return .startTransfer
        }
        return beginFinishing() ? .finish : .nothing
    }

    /// Sets up before anybody asks for a run, whether or not it is to wait; no effect once somebody
    /// did, or after a cancel.
    mutating func setUpAhead() -> Action {
        phase == .idle && state != .cancelled ? setUpAgain() : .nothing
    }

    // MARK: What the pipeline reports

    /// The request is made; middleware takes over.
    mutating func beginIntercepting(attempt: Int) -> Bool {
        guard isCurrent(attempt, in: .settingUp) else { return false }
        phase = .intercepting
        return true
    }

    /// The middleware asks for attempts.
    ///
    /// - Returns: The number of the first; `nil` when one is under way, or none is wanted any more.
    mutating func proceed() -> Int? {
        guard phase == .intercepting, state != .cancelled else { return nil }
        forgetTransfer()
        attempt += 1
        phase = .settingUp
        return attempt
    }

    /// An attempt was the last, and the middleware is told of it; not after a cancel, nor where it has
    /// been told.
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

    /// Whether the attempt goes on with another transfer: a redirect's next hop.
    func mayProceed(attempt: Int) -> Bool {
        isCurrent(attempt, in: .transferring) && state != .cancelled
    }

    /// What a transfer under way is to do.
    enum TransferWish: Equatable, Sendable {
        case run
        case wait
        /// Neither: somebody holds it, or it is to end.
        case none
    }

    /// What a transfer under way is to do now.
    var transferWish: TransferWish {
        switch state {
        case .resumed: holds.isEmpty ? .run : .none
        case .suspended: .wait
        case .initialized, .cancelled, .finished: .none
        }
    }

    /// A redirect is followed.
    mutating func beginHop() { redirects += 1 }

    /// Makes the transfer wait.
    mutating func hold(_ reason: TransferHolds) { holds.insert(reason) }

    /// Takes one reason for waiting away.
    ///
    /// - Returns: Whether the transfer goes on.
    mutating func release(_ reason: TransferHolds, attempt: Int) -> Bool {
        guard isCurrent(attempt, in: .transferring) else { return false }
        holds.remove(reason)
        return holds.isEmpty && state == .resumed
    }

    /// The next transfer is another attempt's.
    private mutating func forgetTransfer() {
        redirects = 0
        holds = []
    }

    /// The transfer, or the setting up, has come to an end; validation and retry follow.
    mutating func beginEvaluating(attempt: Int) -> Bool {
        guard self.attempt == attempt, phase < .evaluating else { return false }
        phase = .evaluating
        return true
    }

    /// A retrier wants another attempt, at once or later; for a serializer's failure, too.
    mutating func willRetry(attempt: Int) -> Bool {
        guard self.attempt == attempt, phase == .evaluating || phase == .finishing,
            state != .cancelled
        else { return false }
        phase = .waitingToRetry
        forgetTransfer()
        return true
    }

    /// A retrier is about to be asked about a serializer's failure.
    mutating func beginConsulting() {
        isConsulting = state != .cancelled && phase == .finishing
    }

    /// The retrier has answered, or its answer is no longer wanted.
    ///
    /// - Returns: Whether it was wanted until now.
    mutating func endConsulting() -> Bool {
        defer { isConsulting = false }
        return isConsulting
    }

    /// The time for the next attempt has come.
    mutating func retryNow(attempt: Int) -> Action {
        guard isCurrent(attempt, in: .waitingToRetry) else { return .nothing }
        retryCount += 1
        return setUpAgain()
    }

    /// Whether the caller is the one who finishes the request.
    mutating func beginFinishing() -> Bool {
        guard phase < .finishing else { return false }
        phase = .finishing
        return true
    }

    /// All completions are about to be called.
    mutating func didFinish() {
        phase = .finished
        if state != .cancelled { state = .finished }
    }

    /// A handler was added to a finished request: it alone runs, on what is already there.
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
    /// Phases in the order of a life; a retry goes back.
    private var order: Int {
        switch self {
        case .idle: 0
        case .intercepting: 1
        case .settingUp: 2
        case .ready: 3
        case .transferring: 4
        case .evaluating: 5
        case .waitingToRetry: 6
        case .finishing: 7
        case .finished: 8
        }
    }

    static func < (a: Self, b: Self) -> Bool { a.order < b.order }
}

/// Why a transfer waits besides the user's own suspending.
struct TransferHolds: OptionSet, Sendable {
    let rawValue: UInt8
    /// Somebody thinks about the head.
    static let judgement = TransferHolds(rawValue: 1)
    /// Those who read the body cannot keep up.
    static let backPressure = TransferHolds(rawValue: 2)
}

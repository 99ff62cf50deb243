import Dispatch
import Glibc
import OutletTransport

/// Runs the calls of an instance one after the other, in the order in which they were asked for.
///
/// Unlike with a serial dispatch queue, a caller can end its wait for a call that does not return.
///
/// Thread: any.
final class TurnQueue: Sendable {
    typealias Work = @Sendable () -> Void

    /// The outcome of a wait for a turn.
    enum Entry: Sendable {
        /// The turn has begun; ``leave()`` must follow.
        case begun
        /// The calling thread has the turn already.
        case nested
        /// Other calls took too long.
        case tooLate
    }

    private struct State {
        var isTaken = false
        /// Whether the turn has taken too long: nothing waits for its end any more.
        var isOverdue = false
        /// Whether a brief wait for the end of the turn was in vain: other brief ones do not begin.
        var isOutlasting = false
        /// The thread that has the turn (`pthread_self`); 0 for none.
        var thread: UInt = 0
        var waiting = Fifo<Waiting>()
    }

    private enum Waiting: Sendable {
        case thread(WaitingThread)
        /// `refused` is called in its place if the turn before it takes too long; `nil` if it waits
        /// without limit.
        case work(Work, refused: Work?)

        var isRefusable: Bool {
            if case .work(_, refused: nil) = self { false } else { true }
        }

        func isThread(_ other: WaitingThread) -> Bool {
            if case .thread(let waiting) = self { waiting === other } else { false }
        }
    }

    /// What becomes of an attempt to enter.
    private enum Attempt: Sendable {
        case over(Entry)
        case waits(WaitingThread)
    }

    private final class WaitingThread: @unchecked Sendable {
        // @unchecked because `hasTurn` is used under the lock of the queue only.
        let thread: UInt
        let turn = DispatchSemaphore(value: 0)
        var hasTurn = false

        init(_ thread: UInt) { self.thread = thread }
    }

    private let state = Lock(State())
    /// Run work that has the turn, so that each queue needs one of them at most.
    private static let threads = WorkerThreads(maximum: 65_536)

    /// Whether the calling thread has the turn.
    var isInside: Bool {
        let thread = UInt(pthread_self())
        return state.withLock { $0.thread == thread }
    }

    /// Waits for a turn on the calling thread.
    ///
    /// - Parameters:
    ///   - limit: The longest wait, in nanoseconds.
    ///   - isBrief: Whether not to wait for a turn that has taken longer than such a wait before:
    ///     others must not add their waits up.
    func enter(within limit: UInt64, isBrief: Bool = false) -> Entry {
        let thread = UInt(pthread_self())
        let attempt = state.withLock { state -> Attempt in
            if state.thread == thread { return .over(.nested) }
            guard state.isTaken else {
                state.isTaken = true
                state.thread = thread
                return .over(.begun)
            }
            guard limit > 0, !state.isOverdue, !(isBrief && state.isOutlasting) else {
                return .over(.tooLate)
            }
            let waiting = WaitingThread(thread)
            state.waiting.append(.thread(waiting))
            return .waits(waiting)
        }
        let waiting: WaitingThread
        switch attempt {
        case .over(let entry): return entry
        case .waits(let thread): waiting = thread
        }
        _ = waiting.turn.wait(timeout: .now() + .nanoseconds(Int(clamping: limit)))
        return state.withLock { state in
            // The turn may have begun after the limit, too.
            if waiting.hasTurn { return .begun }
            state.waiting.removeAll { $0.isThread(waiting) }
            if isBrief { state.isOutlasting = true }
            return .tooLate
        }
    }

    /// Whether the present turn has taken too long.
    var isOverdue: Bool { state.withLock { $0.isOverdue } }

    /// Ends the waits for the end of the present turn, because it takes too long, and refuses others
    /// until it ends.
    ///
    /// - Returns: What to call in place of the work that waited, without a lock.
    func refuseWaits() -> [Work] {
        state.withLock { state in
            guard state.isTaken else { return [] }
            state.isOverdue = true
            let refused = state.waiting.all.filter(\.isRefusable)
            state.waiting.removeAll(where: \.isRefusable)
            return refused.compactMap { waiting in
                switch waiting {
                case .work(_, let refused): return refused
                case .thread(let thread):
                    thread.turn.signal()
                    return nil
                }
            }
        }
    }

    /// Ends a turn of the calling thread.
    func leave() {
        if let work = advance() { start(work) }
    }

    /// Runs work in its turn, on another thread.
    ///
    /// - Parameters:
    ///   - work: The work.
    ///   - refused: Called in its place if a turn before it takes too long (``refuseWaits()``); `nil`
    ///     if it waits without limit.
    func run(_ work: @escaping Work, refused: Work? = nil) {
        let isNext = state.withLock { state in
            if state.isTaken {
                state.waiting.append(.work(work, refused: refused))
                return false
            }
            state.isTaken = true
            return true
        }
        if isNext { start(work) }
    }

    private func start(_ first: @escaping Work) {
        Self.threads.run {
            var next: Work? = first
            while let work = next {
                let thread = UInt(pthread_self())
                self.state.withLock { $0.thread = thread }
                work()
                next = self.advance()
            }
        }
    }

    /// Passes the turn on.
    ///
    /// - Returns: The work that has the turn now; `nil` if a thread has it, or none.
    private func advance() -> Work? {
        let next = state.withLock { state -> Waiting? in
            let next = state.waiting.popFirst()
            state.thread = 0
            state.isOverdue = false
            state.isOutlasting = false
            switch next {
            case .thread(let waiting):
                waiting.hasTurn = true
                state.thread = waiting.thread
            case .work: break
            case nil: state.isTaken = false
            }
            return next
        }
        switch next {
        case .work(let work, _): return work
        case .thread(let waiting): waiting.turn.signal()
        case nil: break
        }
        return nil
    }
}

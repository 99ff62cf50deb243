import OutletSession
import OutletTransport

/// The completions of one instance whose answers are pending, or that the host answered in the
/// plugin's place; it retains them.
///
/// Thread: any.
final class PendingCompletions: Sendable {
    private struct State {
        var pending: [UInt64: Completion] = [:]
        /// Completions that the host answered in the plugin's place.
        ///
        /// Each may be settled late once, and the objects passed to its hook may be used, without
        /// being a violation. They are retained, since the plugin may not have seen the
        /// cancellation yet.
        var cancelled: [UInt64: Completion] = [:]
        /// Completions that the host answered in the plugin's place, until its `cancel` has
        /// returned.
        var cancelling: [UInt64: Completion] = [:]
    }

    private let state = Lock(State())

    /// The completions whose answers are pending.
    var all: [Completion] { state.withLock { Array($0.pending.values) } }

    /// The completion with this id whose answer is pending, or that the host answered in the
    /// plugin's place; `nil` for none.
    func completion(of id: UInt64) -> Completion? {
        state.withLock { $0.pending[id] ?? $0.cancelled[id] }
    }

    /// The completions of a call that are pending, or whose `cancel` has not returned; those that
    /// are just being cancelled may be in it twice.
    func open(ofCall number: UInt64) -> [Completion] {
        func isAsked(_ completion: Completion) -> Bool {
            completion.mayAnswerLater && completion.belongs(toCall: number)
        }
        return state.withLock {
            $0.pending.values.filter(isAsked) + $0.cancelling.values.filter(isAsked)
        }
    }

    /// Whether a stale handle belongs to a cancelled completion, which the plugin may not know yet.
    func mayNotKnow(isStale handle: UInt64) -> Bool {
        let id = handle & ~HandleTable.partMask
        let (pending, isListed) = state.withLock { ($0.pending[id], $0.cancelled[id] != nil) }
        // Another thread may have cancelled the completion, and not listed it yet.
        return isListed || pending?.isGivenUp == true
    }

    /// Adds a completion whose answer is pending.
    func add(_ completion: Completion) {
        state.withLock { $0.pending[completion.id] = completion }
    }

    /// Removes a completion.
    ///
    /// - Parameter isCancelled: Whether the host answered in the plugin's place; the handle then
    ///   stays valid for one late answer.
    func remove(_ completion: Completion, isCancelled: Bool) {
        state.withLock { state in
            state.pending[completion.id] = nil
            // The hook may have returned since the cancel: then the handle has ended.
            if isCancelled, completion.isGivenUp { state.cancelled[completion.id] = completion }
        }
    }

    /// Removes a cancelled completion after its late answer.
    func forget(_ id: UInt64) {
        // Released after the lock.
        let completion = state.withLock { $0.cancelled.removeValue(forKey: id) }
        withExtendedLifetime(completion) {}
    }

    /// Removes all cancelled completions, when the plugin has ended.
    func forgetCancelled() {
        let cancelled = state.withLock { state in
            defer { state.cancelled = [:] }
            return state.cancelled
        }
        withExtendedLifetime(cancelled) {}
    }

    /// Registers a completion that the host answers in the plugin's place, before it is removed from
    /// the pending ones; ``endCancelling(_:)`` follows.
    func beginCancelling(_ completion: Completion) {
        state.withLock { $0.cancelling[completion.id] = completion }
    }

    /// Removes a completion whose `cancel` has returned.
    func endCancelling(_ completion: Completion) {
        let removed = state.withLock { $0.cancelling.removeValue(forKey: completion.id) }
        withExtendedLifetime(removed) {}
    }
}

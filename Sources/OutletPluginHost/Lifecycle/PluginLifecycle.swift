/// The life of one plugin instance as a value: no lock, no call, no clock.
struct PluginLifecycle: Equatable {
    enum State: Equatable {
        /// In service; `calls` are inside the plugin now.
        case serving(calls: Int)
        /// No new calls; goes on to `quiescing` when `calls` reaches 0.
        case draining(calls: Int)
        /// `quiesce` is on a stack; `isAnswered` when `quiesced` came already.
        case quiescing(isAnswered: Bool)
        /// `quiesce` returned and promised `quiesced` for later.
        case awaitingQuiesced
        /// `destroy` was or is being called. Final.
        case closed
        /// Did not answer in time: never destroyed, never called again. Final.
        case abandoned
    }

    /// What the caller must do once the lock is released.
    enum Action: Equatable {
        case nothing
        case callQuiesce
        case callDestroy
    }

    private(set) var state = State.serving(calls: 0)

    /// Whether the plugin may have work under way: it has not been told to be gone.
    var isRunning: Bool {
        switch state {
        case .serving, .draining, .quiescing, .awaitingQuiesced: true
        case .closed, .abandoned: false
        }
    }

    /// Whether calls may go into the plugin.
    var isServing: Bool {
        if case .serving = state { true } else { false }
    }

    /// Whether a call may go into the plugin; if so, ``leave()`` must follow.
    mutating func enter() -> Bool {
        guard case .serving(let calls) = state else { return false }
        state = .serving(calls: calls + 1)
        return true
    }

    /// Whether the last call about a request may go into the plugin: also while others are still in it, so
    /// that it comes before `quiesce`.
    mutating func enterLast() -> Bool {
        guard case .draining(let calls) = state else { return enter() }
        state = .draining(calls: calls + 1)
        return true
    }

    /// A call came out of the plugin.
    mutating func leave() -> Action {
        switch state {
        case .serving(let calls):
            state = .serving(calls: calls - 1)
            return .nothing
        case .draining(1):
            state = .quiescing(isAnswered: false)
            return .callQuiesce
        case .draining(let calls):
            state = .draining(calls: calls - 1)
            return .nothing
        case .quiescing, .awaitingQuiesced, .closed, .abandoned:
            return .nothing
        }
    }

    /// The plugin is wanted no more.
    mutating func stop() -> Action {
        switch state {
        case .serving(calls: 0):
            state = .quiescing(isAnswered: false)
            return .callQuiesce
        case .serving(let calls):
            state = .draining(calls: calls)
            return .nothing
        case .draining, .quiescing, .awaitingQuiesced, .closed, .abandoned:
            return .nothing
        }
    }

    /// `quiesce` came back.
    mutating func quiesceReturned(isPending: Bool) -> Action {
        guard case .quiescing(let isAnswered) = state else { return .nothing }
        if isPending, !isAnswered {
            state = .awaitingQuiesced
            return .nothing
        }
        state = .closed
        return .callDestroy
    }

    /// The plugin said that it is done.
    ///
    /// - Returns: `nil` when nobody had asked.
    mutating func quiesced() -> Action? {
        switch state {
        case .quiescing(isAnswered: false):
            state = .quiescing(isAnswered: true)
            return .nothing
        case .awaitingQuiesced:
            state = .closed
            return .callDestroy
        case .serving, .draining, .quiescing, .closed, .abandoned:
            return nil
        }
    }

    /// The time for all of it is over.
    ///
    /// - Returns: Whether the instance is abandoned by that.
    mutating func deadlinePassed() -> Bool {
        switch state {
        case .serving, .draining, .quiescing, .awaitingQuiesced:
            state = .abandoned
            return true
        case .closed, .abandoned:
            return false
        }
    }
}

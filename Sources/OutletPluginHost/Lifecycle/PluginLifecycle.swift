/// The state of one plugin instance as a value: no lock, no call, no clock.
struct PluginLifecycle: Equatable {
    enum State: Equatable {
        /// Running; `calls` counts calls inside the plugin.
        case serving(calls: Int)
        /// Shutting down: no new calls; becomes `quiescing` when `calls` reaches 0.
        case draining(calls: Int)
        /// `quiesce` is running; `isAnswered` if `quiesced` was called already.
        case quiescing(isAnswered: Bool)
        /// `quiesce` returned `OUTLET_PENDING`; waits for `quiesced`.
        case awaitingQuiesced
        /// `destroy` was or is being called. Final.
        case closed
        /// Did not end in time: never destroyed, never called again. Final.
        case abandoned
    }

    /// What the caller must do once the lock is released.
    enum Action: Equatable {
        case nothing
        case callQuiesce
        case callDestroy
    }

    private(set) var state = State.serving(calls: 0)

    /// Whether the plugin may still have work running: neither destroyed nor abandoned.
    var isRunning: Bool {
        switch state {
        case .serving, .draining, .quiescing, .awaitingQuiesced: true
        case .closed, .abandoned: false
        }
    }

    /// Whether calls may begin.
    var isServing: Bool {
        if case .serving = state { true } else { false }
    }

    /// Begins a call.
    ///
    /// - Returns: `false` where the plugin is not running; otherwise ``leave()`` must follow.
    mutating func enter() -> Bool {
        guard case .serving(let calls) = state else { return false }
        state = .serving(calls: calls + 1)
        return true
    }

    /// Begins a call that reports an end.
    ///
    /// Allowed also while shutting down as long as other calls are inside the plugin, so that it
    /// comes before `quiesce`.
    ///
    /// - Returns: `false` where it is too late; otherwise ``leave()`` must follow.
    mutating func enterLast() -> Bool {
        guard case .draining(let calls) = state else { return enter() }
        state = .draining(calls: calls + 1)
        return true
    }

    /// Begins a call of a hook: as ``enterLast()`` if the hook reports an end, otherwise as
    /// ``enter()``.
    mutating func enter(_ hook: PluginHook) -> Bool {
        enter() || hook.runsDuringShutdown && enterLast()
    }

    /// Ends a call.
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

    /// Begins the shutdown.
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

    /// Handles the return of `quiesce`.
    ///
    /// - Parameter isPending: Whether it returned `OUTLET_PENDING`.
    mutating func quiesceReturned(isPending: Bool) -> Action {
        guard case .quiescing(let isAnswered) = state else { return .nothing }
        if isPending, !isAnswered {
            state = .awaitingQuiesced
            return .nothing
        }
        state = .closed
        return .callDestroy
    }

    /// Handles the plugin's call of `quiesced`.
    ///
    /// - Returns: `nil` when the host was not waiting for it.
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

    /// Abandons the instance, at the deadline of the shutdown, unless it has ended.
    ///
    /// - Returns: Whether the instance is abandoned now.
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

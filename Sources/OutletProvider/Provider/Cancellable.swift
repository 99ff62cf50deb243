import OutletSession

/// Something that can be cancelled.
public protocol Cancellable: Sendable {
    /// Whether it was.
    var isCancelled: Bool { get }
    /// Cancels it; idempotent, from any thread.
    func cancel()
}

/// What a provider's request is cancelled with, before the session's request exists and after.
public final class CancellableToken: Cancellable {
    private struct State {
        var isCancelled = false
        /// There is nothing left to cancel.
        var isOver = false
        var action: (@Sendable () -> Void)?
    }

    private let state: Lock<State>

    /// Makes a token.
    ///
    /// - Parameter action: Done once, at the first ``cancel()``.
    public init(action: (@Sendable () -> Void)? = nil) {
        state = Lock(State(action: action))
    }

    /// Whether the request was cancelled.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Cancels the request.
    public func cancel() {
        let action = state.withLock { state -> (@Sendable () -> Void)? in
            state.isCancelled = true
            defer { state.action = nil }
            return state.action
        }
        action?()
    }

    /// What to do at ``cancel()`` from now on; done at once if that came already.
    func onCancel(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if !state.isCancelled, !state.isOver { state.action = action }
            return state.isCancelled && !state.isOver
        }
        if isLate { action() }
    }

    /// Shows the thread sanitizer that what came before this elsewhere comes before what follows.
    func showOrder() { state.showOrder() }

    /// Forgets what to do at ``cancel()``: the request is over.
    ///
    /// What is done holds the request, and the request its completion, which holds this token.
    func settle() {
        state.withLock { state in
            state.isOver = true
            state.action = nil
        }
    }
}

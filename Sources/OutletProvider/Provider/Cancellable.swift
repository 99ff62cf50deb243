import OutletObservation
import OutletSession
import OutletTransport

/// Something that can be cancelled.
public protocol Cancellable: Sendable {
    /// Whether it was.
    var isCancelled: Bool { get }
    /// Cancels it; idempotent, from any thread.
    func cancel()
}

/// What a provider's request is cancelled with, before the session's request exists and after.
public final class CancellableToken: Cancellable, CustomDebugStringConvertible {
    private struct State: Sendable {
        var isCancelled = false
        /// There is nothing left to cancel.
        var isOver = false
        var action: (@Sendable () -> Void)?
        var request: Request?
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
        let (action, request) = state.withLock { state in
            state.isCancelled = true
            defer { state.action = nil }
            return (state.action, state.request)
        }
        action?()
        request?.cancel()
    }

    /// The request as a command line for curl, secrets left out; `Empty Request` before and after it.
    public var debugDescription: String {
        state.withLock { $0.request }?.cURLDescription() ?? "Empty Request"
    }

    /// What ``cancel()`` cancels from now on; cancelled at once if that came already.
    func cancels(_ request: Request) {
        let isLate = state.withLock { state in
            guard !state.isOver else { return false }
            state.request = request
            return state.isCancelled
        }
        if isLate { request.cancel() }
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
    /// This holds the request, and the request its completion, which holds this token.
    func settle() {
        state.withLock { state in
            state.isOver = true
            state.action = nil
            state.request = nil
        }
    }
}

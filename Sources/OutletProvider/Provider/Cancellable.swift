import OutletObservation
import OutletSession
import OutletTransport

/// An operation that can be cancelled.
public protocol Cancellable: Sendable {
    /// Whether ``cancel()`` was called.
    var isCancelled: Bool { get }
    /// Cancels the operation; further calls have no effect.
    ///
    /// Thread: any. Does not wait for the end.
    func cancel()
}

/// Cancels a provider's request, also before the session's request exists.
///
/// Thread: any.
public final class CancellableToken: Cancellable, CustomDebugStringConvertible {
    private struct State: Sendable {
        var isCancelled = false
        /// There is nothing left to cancel.
        var isOver = false
        var action: (@Sendable () -> Void)?
        /// The call, until its request closure answers or it is cancelled.
        var call: ProviderCall?
        var request: Request?
    }

    private let state: Lock<State>

    /// Makes a token.
    ///
    /// - Parameter action: Called once, by the first ``cancel()``, on its thread; `nil` for none.
    public init(action: (@Sendable () -> Void)? = nil) {
        state = Lock(State(action: action))
    }

    /// Whether ``cancel()`` was called, also if the request had ended by then.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Cancels the request; has no effect on one that has ended.
    public func cancel() {
        let (action, call, request) = state.withLock { state in
            state.isCancelled = true
            return (state.action.take(), state.call.take(), state.request)
        }
        action?()
        call?.fail(.underlying(SessionError.explicitlyCancelled, nil))
        request?.cancel()
    }

    /// The request as a curl command line, secrets redacted; `Empty Request` before the session's
    /// request exists and after it has ended.
    public var debugDescription: String {
        state.withLock { $0.request }?.cURLDescription() ?? "Empty Request"
    }

    /// The progress of the request: of its body for uploads, else of the response's body; `nil`
    /// without a request.
    var progress: TransferProgress? {
        state.withLock { $0.request }.map { request in
            request is UploadRequest ? request.uploadProgress : request.downloadProgress
        }
    }

    /// Makes ``cancel()`` fail a call that has no request yet.
    func cancels(_ call: ProviderCall) { state.withLock { $0.call = call } }

    /// Returns the call for the first answer of its request closure only, if ``cancel()`` was not
    /// called before; the caller must complete it.
    func takeCall() -> ProviderCall? { state.withLock { $0.call.take() } }

    /// Makes ``cancel()`` cancel a request; cancels it at once if ``cancel()`` was called before.
    func cancels(_ request: Request) {
        let isLate = state.withLock { state in
            guard !state.isOver else { return false }
            state.request = request
            return state.isCancelled
        }
        if isLate { request.cancel() }
    }

    /// Makes ``cancel()`` call a closure; calls it at once if ``cancel()`` was called before.
    func onCancel(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if !state.isCancelled, !state.isOver { state.action = action }
            return state.isCancelled && !state.isOver
        }
        if isLate { action() }
    }

    /// Establishes a happens-before order that the thread sanitizer sees.
    func showOrder() { state.showOrder() }

    /// Releases the request and the closure, because the request has ended.
    ///
    /// Breaks a reference cycle: token, request, completion, token.
    func settle() {
        state.withLock { state in
            state.isOver = true
            state.action = nil
            state.request = nil
        }
    }
}

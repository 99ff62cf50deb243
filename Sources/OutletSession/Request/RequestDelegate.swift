import Dispatch
import FoundationEssentials

/// What a request sees of its session.
public protocol RequestDelegate: AnyObject, Sendable {
    /// The session's settings.
    var sessionConfiguration: SessionConfiguration { get }
    /// Whether a request starts when its first handler is added.
    var startImmediately: Bool { get }

    /// Makes a request ready without starting it; no effect on one that is ready, or was cancelled.
    func readyToPerform(request: Request)

    /// Asks the session's retriers, then the request's own, what they make of an error.
    ///
    /// - Parameter completion: Called once with the first answer that is not
    ///   ``RetryResult/doNotRetry``, or with that one. What it says is not done.
    func retryResult(
        for request: Request, dueTo error: SessionError,
        completion: @escaping @Sendable (RetryResult) -> Void)
}

extension Session: RequestDelegate {
    /// Whether a request starts when its first handler is added; ``startRequestsImmediately``.
    public var startImmediately: Bool { startRequestsImmediately }

    /// Makes a request ready without starting it, on ``rootQueue``.
    public func readyToPerform(request: Request) {
        guard request.core === core else { return }
        core.rootQueue.async { request.setUpAhead() }
    }

    /// Asks the retriers on ``rootQueue``.
    public func retryResult(
        for request: Request, dueTo error: SessionError,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        let retriers = Interceptor(retriers: core.retriers(for: request.interceptor))
        core.rootQueue.async {
            retriers.retry(request, for: self, dueTo: error, completion: completion)
        }
    }
}

extension Request {
    /// The request's session; `nil` once it is gone.
    public var delegate: (any RequestDelegate)? { core.session }
}

import Dispatch
public import FoundationEssentials
import OutletTransport

/// A request's view of its session.
public protocol RequestDelegate: AnyObject, Sendable {
    /// The session's configuration.
    var sessionConfiguration: SessionConfiguration { get }
    /// Whether a request starts when its first handler is added.
    var startImmediately: Bool { get }

    /// Makes a request ready without starting it; has no effect if it is ready or was cancelled.
    ///
    /// - Parameter request: A request of this session; one of another session is ignored.
    func readyToPerform(request: Request)

    /// Removes a request from the session's active requests, as at its end.
    ///
    /// A request that has not ended continues, but is not among those of `cancelAllRequests` and
    /// `withAllRequests` any more.
    ///
    /// - Parameter request: A request of this session; one of another session is ignored.
    func cleanup(after request: Request)

    /// Calls the session's retriers, then the request's own, to decide about a retry after an
    /// error.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - error: Why it failed.
    ///   - completion: Called once with the first answer other than ``RetryResult/doNotRetry``,
    ///     else with that. The request is not retried by this call.
    func retryResult(
        for request: Request, dueTo error: SessionError,
        completion: @escaping @Sendable (RetryResult) -> Void)

    /// Retries a request whose retriers are being called, in place of their decision.
    ///
    /// Has no effect on a request whose retriers are not being called, or that was cancelled.
    ///
    /// - Parameters:
    ///   - request: The failed request; one of another session is ignored.
    ///   - timeDelay: The delay in seconds; none if `nil`.
    func retryRequest(_ request: Request, withDelay timeDelay: TimeInterval?)
}

extension Session: RequestDelegate {
    /// Whether a request starts when its first handler is added; ``startRequestsImmediately``.
    public var startImmediately: Bool { startRequestsImmediately }

    /// Makes a request ready without starting it, on ``rootQueue``.
    ///
    /// - Parameter request: A request of this session; one of another session is ignored.
    public func readyToPerform(request: Request) {
        guard request.core === core else { return }
        core.rootQueue.async { request.setUpAhead() }
    }

    /// Removes a request from the active requests; ignores one of another session.
    ///
    /// - Parameter request: A request of this session; one of another session is ignored.
    public func cleanup(after request: Request) {
        guard request.core === core else { return }
        if core.unregister(request) { core.endDraining() }
    }

    /// Calls the retriers, on ``rootQueue``.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - error: Why it failed.
    ///   - completion: Called once with the first answer other than ``RetryResult/doNotRetry``,
    ///     else with that. The request is not retried by this call.
    public func retryResult(
        for request: Request, dueTo error: SessionError,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        let retriers = Interceptor(retriers: core.retriers(for: request.interceptor))
        core.rootQueue.async {
            retriers.retry(request, for: self, dueTo: error, completion: completion)
        }
    }

    /// Retries a request whose retriers are being called; ignores one of another session.
    ///
    /// - Parameters:
    ///   - request: The failed request; one of another session is ignored.
    ///   - timeDelay: The delay in seconds; none if `nil`.
    public func retryRequest(_ request: Request, withDelay timeDelay: TimeInterval?) {
        guard request.core === core else { return }
        let wait = request.mutable.withLock { $0.wait as? Wait<RetryVerdict> }
        wait?.answer(.retry(after: timeDelay ?? 0))
    }
}

extension Request {
    /// The request's session; `nil` once it is deallocated.
    public var delegate: (any RequestDelegate)? { core.session }
}

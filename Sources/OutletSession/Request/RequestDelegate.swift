import Dispatch
public import FoundationEssentials
import OutletTransport

/// What a request sees of its session.
public protocol RequestDelegate: AnyObject, Sendable {
    /// The session's settings.
    var sessionConfiguration: SessionConfiguration { get }
    /// Whether a request starts when its first handler is added.
    var startImmediately: Bool { get }

    /// Makes a request ready without starting it; no effect on one that is ready, or was cancelled.
    func readyToPerform(request: Request)

    /// Takes a request out of those under way, as is done at its end.
    ///
    /// One that is not over goes on; nothing that is done to all requests reaches it any more.
    func cleanup(after request: Request)

    /// Asks the session's retriers, then the request's own, what they make of an error.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - error: Why it failed.
    ///   - completion: Called once with the first answer that is not ``RetryResult/doNotRetry``, or
    ///     with that one. What it says is not done.
    func retryResult(
        for request: Request, dueTo error: SessionError,
        completion: @escaping @Sendable (RetryResult) -> Void)

    /// Tries a request again whose retriers are being asked, in place of their answer.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - timeDelay: After how many seconds; at once if `nil`.
    ///
    /// No effect on a request that asks nobody, nor after a cancel.
    func retryRequest(_ request: Request, withDelay timeDelay: TimeInterval?)
}

extension Session: RequestDelegate {
    /// Whether a request starts when its first handler is added; ``startRequestsImmediately``.
    public var startImmediately: Bool { startRequestsImmediately }

    /// Makes a request ready without starting it, on ``rootQueue``.
    public func readyToPerform(request: Request) {
        guard request.core === core else { return }
        core.rootQueue.async { request.setUpAhead() }
    }

    /// Takes a request out of those under way; one of another session stays where it is.
    public func cleanup(after request: Request) {
        guard request.core === core else { return }
        if core.unregister(request) { core.endDraining() }
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

    /// Tries a request again whose retriers are being asked; no effect on another session's.
    public func retryRequest(_ request: Request, withDelay timeDelay: TimeInterval?) {
        guard request.core === core else { return }
        let wait = request.mutable.withLock { $0.wait as? Wait<RetryVerdict> }
        wait?.answer(.retry(after: timeDelay ?? 0))
    }
}

extension Request {
    /// The request's session; `nil` once it is gone.
    public var delegate: (any RequestDelegate)? { core.session }
}

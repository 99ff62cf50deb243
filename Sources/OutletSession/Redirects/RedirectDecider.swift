public import OutletHTTP

/// A redirect that a session is about to follow.
public struct ProposedRedirect: Sendable {
    /// The request that was redirected.
    public var request: HTTPRequest
    /// The head of the redirect response.
    public var response: HTTPResponse
    /// The request that would be sent: method, body, header fields and credentials are already
    /// adapted.
    public var next: HTTPRequest
}

/// The decision of a ``RedirectDecider``.
public enum RedirectDecision: Sendable {
    /// Follow the redirect with this request.
    ///
    /// If its origin is not that of ``ProposedRedirect/next``, it is sent without `Host` and
    /// without secret header fields.
    case follow(HTTPRequest)
    /// Use the redirect as the response.
    case take
    /// Fail the request with this error.
    case fail(any Error)
}

/// Decides about each redirect that a session is about to follow.
///
/// Deciders are called after the request's ``RedirectHandler``, one after the other.
public protocol RedirectDecider: Sendable {
    /// Decides about a redirect, before or after this returns.
    ///
    /// Thread: the session's request queue. Must not block.
    ///
    /// - Parameters:
    ///   - redirect: The request that was redirected, the response, and the request that would be
    ///     sent.
    ///   - completion: Receives the decision. Call it exactly once, on any thread; later calls are
    ///     ignored.
    /// - Returns: A closure that the session calls when it no longer waits for the decision, for
    ///   example because the request is cancelled; `nil` if there is nothing to cancel.
    func decide(
        _ redirect: ProposedRedirect,
        completion: @escaping @Sendable (RedirectDecision) -> Void
    ) -> (@Sendable () -> Void)?
}

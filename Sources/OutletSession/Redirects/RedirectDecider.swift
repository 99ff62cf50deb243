public import OutletHTTP

/// A redirect that a session is about to follow.
public struct ProposedRedirect: Sendable {
    /// What was sent.
    public var request: HTTPRequest
    /// What it was answered with: the head alone.
    public var response: HTTPResponse
    /// What would be sent: method, body, fields and credentials fitted already.
    public var next: HTTPRequest
}

/// What becomes of a redirect.
public enum RedirectVerdict: Sendable {
    /// It is followed by this request; to another server than proposed that goes without credentials.
    case follow(HTTPRequest)
    /// It is the response.
    case take
    /// The request fails with this error.
    case fail(any Error)
}

/// Decides about each redirect that a session is about to follow, behind the request's own
/// ``RedirectHandler``.
public protocol RedirectDecider: Sendable {
    /// Decides, now or later.
    ///
    /// - Parameters:
    ///   - redirect: What was sent, and what would be.
    ///   - completion: To be called exactly once, on any thread; later calls are ignored.
    /// - Returns: What the session calls when it waits no longer, such as when the request is cancelled.
    ///
    /// Thread: the session's request queue. Must not block.
    func judge(
        _ redirect: ProposedRedirect,
        completion: @escaping @Sendable (RedirectVerdict) -> Void
    ) -> (@Sendable () -> Void)?
}

public import OutletHTTP
public import OutletTransport

/// Decides about the redirects of a request.
public protocol RedirectHandler: Sendable {
    /// Decides whether a redirect is followed, and with which request.
    ///
    /// If the session's `interceptorTimeout` passes before `completion` is called, the request
    /// fails with ``InterceptorTimeoutError``.
    ///
    /// Thread: the session's request queue.
    ///
    /// - Parameters:
    ///   - task: The transfer that was redirected.
    ///   - request: The request that would be sent: method, body and credentials are already
    ///     adapted.
    ///   - response: The redirect response.
    ///   - completion: Receives the request to send next, or `nil` to use the redirect as the
    ///     response. Call it exactly once, on any thread; later calls are ignored.
    func task(
        _ task: any TransferTask, willBeRedirectedTo request: HTTPRequest,
        for response: HTTPResponse, completion: @escaping @Sendable (HTTPRequest?) -> Void)
}

/// A redirect handler that follows redirects, does not follow them, or changes the next request.
public struct Redirector: RedirectHandler {
    /// What the handler does with redirects.
    public enum Behavior: Sendable {
        /// Redirects are followed.
        case follow
        /// The redirect is the response.
        case doNotFollow
        /// The closure returns the request to send next, or `nil` to use the redirect as the
        /// response.
        case modify(
            @Sendable (
                _ task: any TransferTask, _ request: HTTPRequest, _ response: HTTPResponse
            ) -> HTTPRequest?)
    }

    /// Follows all redirects.
    public static let follow = Redirector(behavior: .follow)
    /// Follows no redirect; the redirect is the response.
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    /// What the handler does with redirects.
    public let behavior: Behavior

    /// Makes a redirect handler.
    ///
    /// - Parameter behavior: What it does with redirects.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Calls `completion` according to ``behavior``, before this returns.
    ///
    /// - Parameters:
    ///   - task: The transfer that was redirected.
    ///   - request: The request that would be sent: method, body and credentials are already
    ///     adapted.
    ///   - response: The redirect response.
    ///   - completion: Receives the request to send next, or `nil` to use the redirect as the
    ///     response. Call it exactly once, on any thread; later calls are ignored.
    public func task(
        _ task: any TransferTask, willBeRedirectedTo request: HTTPRequest,
        for response: HTTPResponse, completion: @escaping @Sendable (HTTPRequest?) -> Void
    ) {
        switch behavior {
        case .follow: completion(request)
        case .doNotFollow: completion(nil)
        case .modify(let modify): completion(modify(task, request, response))
        }
    }
}

extension RedirectHandler where Self == Redirector {
    /// Follows all redirects.
    public static var follow: Redirector { Redirector.follow }
    /// Follows no redirect; the redirect is the response.
    public static var doNotFollow: Redirector { Redirector.doNotFollow }

    /// Sends what a closure returns.
    ///
    /// - Parameter closure: Receives the transfer, the request that would be sent and the redirect
    ///   response. Returns the request to send next, or `nil` to use the redirect as the response.
    ///   Called on the session's request queue.
    /// - Returns: The redirect handler.
    public static func modify(
        using closure:
            @escaping @Sendable (
                _ task: any TransferTask, _ request: HTTPRequest, _ response: HTTPResponse
            ) -> HTTPRequest?
    ) -> Redirector { Redirector(behavior: .modify(closure)) }
}

public import OutletHTTP
public import OutletTransport

/// Decides about redirects.
public protocol RedirectHandler: Sendable {
    /// Answers with the request to send next, or with `nil` to take the redirect as the response.
    ///
    /// - Parameters:
    ///   - task: The transfer that was redirected.
    ///   - request: What is about to be sent: method, body and credentials fitted already.
    ///   - response: The redirect.
    ///   - completion: To be called exactly once; a second call is ignored.
    ///
    /// Thread: the session's request queue.
    func task(
        _ task: any TransferTask, willBeRedirectedTo request: HTTPRequest,
        for response: HTTPResponse, completion: @escaping @Sendable (HTTPRequest?) -> Void)
}

/// A redirect handler of the usual kinds.
public struct Redirector: RedirectHandler {
    /// What is done with redirects.
    public enum Behavior: Sendable {
        /// They are followed.
        case follow
        /// They are the response.
        case doNotFollow
        /// The closure says what to send next, `nil` for nothing.
        case modify(
            @Sendable (
                _ task: any TransferTask, _ request: HTTPRequest, _ response: HTTPResponse
            ) -> HTTPRequest?)
    }

    /// Follows redirects.
    public static let follow = Redirector(behavior: .follow)
    /// Takes redirects as the response.
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    /// What is done with redirects.
    public let behavior: Behavior

    /// Makes a handler.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Answers as the behaviour says.
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
    /// Follows redirects.
    public static var follow: Redirector { Redirector.follow }
    /// Takes redirects as the response.
    public static var doNotFollow: Redirector { Redirector.doNotFollow }

    /// Asks a closure what to send next, `nil` for nothing.
    public static func modify(
        using closure:
            @escaping @Sendable (
                _ task: any TransferTask, _ request: HTTPRequest, _ response: HTTPResponse
            ) -> HTTPRequest?
    ) -> Redirector { Redirector(behavior: .modify(closure)) }
}

package import OutletHTTP

/// An adapter whose answers may take long, and that wants to know at once when nobody waits for one any
/// more: the request was cancelled, its session has gone, the time is over.
package protocol AbandonableAdapter: RequestAdapter {
    /// As `adapt(_:using:completion:)`.
    ///
    /// - Returns: Called once when nobody waits for the answer any more, on any thread; must not
    ///   block. `nil` when there is nothing to give up.
    func beginAdapting(
        _ request: HTTPRequest, using state: RequestAdapterState,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> (@Sendable () -> Void)?
}

/// A retrier of that kind.
package protocol AbandonableRetrier: RequestRetrier {
    /// As `retry(_:for:dueTo:completion:)`; returns as ``AbandonableAdapter/beginAdapting(_:using:_:)``.
    func beginRetrying(
        _ request: Request, for session: Session, dueTo error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> (@Sendable () -> Void)?
}

extension AbandonableAdapter {
    package func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { _ = beginAdapting(request, using: state, completion) }
}

extension AbandonableRetrier {
    package func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) { _ = beginRetrying(request, for: session, dueTo: error, completion) }
}

package import OutletHTTP

/// An adapter that is notified when its answer is no longer needed: the request was cancelled, its
/// session was released, or its time limit has passed.
package protocol AbandonableAdapter: RequestAdapter {
    /// Same as `adapt(_:using:completion:)`.
    ///
    /// - Returns: A closure to call once when the answer is no longer needed, on any thread; it
    ///   must not block. `nil` if there is nothing to cancel.
    func beginAdapting(
        _ request: HTTPRequest, using state: RequestAdapterState,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> (@Sendable () -> Void)?
}

/// A retrier that is notified when its answer is no longer needed.
package protocol AbandonableRetrier: RequestRetrier {
    /// Same as `retry(_:for:dueTo:completion:)`.
    ///
    /// - Returns: As for ``AbandonableAdapter/beginAdapting(_:using:_:)``.
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

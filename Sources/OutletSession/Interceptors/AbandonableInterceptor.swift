package import OutletHTTP
import OutletTransport

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

/// The task in which the callback form of an interceptor calls its `async` form.
final class InterceptorTask: Sendable {
    @TaskLocal private static var current: InterceptorTask?

    private let cancel = Lock<(@Sendable () -> Void)?>(nil)

    /// Calls an interceptor.
    ///
    /// - Parameter body: Calls its callback form.
    /// - Returns: Cancels the task that `body` has started; `nil` if it has started none.
    static func starting(_ body: () -> Void) -> (@Sendable () -> Void)? {
        let started = InterceptorTask()
        $current.withValue(started, operation: body)
        return started.cancel.withLock { $0 }
    }

    /// Starts a task, which ``starting(_:)`` can cancel.
    static func start(_ body: @escaping @Sendable () async -> Void) {
        let task = Task { await body() }
        current?.cancel.withLock { $0 = $0 ?? { task.cancel() } }
    }
}

public import FoundationEssentials
public import OutletHTTP

/// The context of a request that an adapter changes.
public struct RequestAdapterState: Sendable {
    /// The id of the session's request; the same in every attempt.
    public let requestID: UUID
    /// The session of the request.
    public let session: Session
    /// The number of earlier attempts.
    public let retryCount: Int
    /// The request; `nil` outside of a session's request.
    package let request: Request?

    /// Passes the state through the callback form that has no parameter for it.
    @TaskLocal static var current: RequestAdapterState?

    /// Makes a state, for tests of adapters.
    ///
    /// - Parameters:
    ///   - requestID: The id of the request.
    ///   - session: The session of the request.
    ///   - retryCount: The number of earlier attempts.
    public init(requestID: UUID, session: Session, retryCount: Int = 0) {
        self.init(requestID: requestID, session: session, retryCount: retryCount, request: nil)
    }

    init(requestID: UUID, session: Session, retryCount: Int, request: Request?) {
        self.requestID = requestID
        self.session = session
        self.retryCount = retryCount
        self.request = request
    }

    /// Returns the request with the body of an upload, which other adapters do not see.
    ///
    /// What the adapter makes of the body is sent.
    ///
    /// - Parameter adapted: The request, as changed by the adapters before.
    /// - Throws: `SessionError.createUploadableFailed(error:)`.
    package func addingBody(to adapted: HTTPRequest) throws(SessionError) -> HTTPRequest {
        guard let request, request.makesBody else { return adapted }
        return try request.addBody(to: adapted)
    }
}

/// Changes a request before each attempt.
///
/// Implement either form: the callback, which may be called at any time on any thread, or the
/// `async` one.
public protocol RequestAdapter: InterceptorTiming {
    /// Passes the request to send, or an error, to `completion`.
    ///
    /// - Parameters:
    ///   - request: The request, as changed by the adapters before.
    ///   - session: The request's session.
    ///   - completion: To be called exactly once, on any thread; further calls are ignored. An
    ///     error fails the request with `SessionError.requestAdaptationFailed(error:)`.
    ///
    /// Thread: the session's request queue; after an adapter that answers later, the thread on
    /// which that adapter calls its completion. Nothing else of this request runs at the same time.
    func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void)

    /// Same as ``adapt(_:for:completion:)``, with the context of the request.
    ///
    /// By default it calls ``adapt(_:for:completion:)``.
    ///
    /// - Parameters:
    ///   - request: The request, as changed by the adapters before.
    ///   - state: The context of the request.
    ///   - completion: To be called exactly once, on any thread; further calls are ignored.
    func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void)

    /// Returns the request to send.
    ///
    /// The default implementations of the callback forms call it.
    ///
    /// - Parameters:
    ///   - request: The request, as changed by the adapters before.
    ///   - state: The context of the request.
    /// - Throws: Any error; the request fails with `SessionError.requestAdaptationFailed(error:)`.
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest

    /// The adapter's synchronous form; `nil` if it may answer later.
    ///
    /// Read once for the adapters of a session, and for each request for its own.
    var synchronous: (any SynchronousRequestAdapter)? { get }
}

/// An adapter that returns its answer and never blocks.
///
/// If all adapters of a request are synchronous, they run on the thread that starts the request,
/// without a hop to the session's request queue.
public protocol SynchronousRequestAdapter: RequestAdapter {
    /// Returns the request to send.
    ///
    /// - Parameters:
    ///   - request: The request, as changed by the adapters before.
    ///   - state: The context of the request.
    /// - Throws: Any error; the request fails with `SessionError.requestAdaptationFailed(error:)`.
    ///
    /// Thread: the one that starts the request, or as for
    /// ``RequestAdapter/adapt(_:for:completion:)``.
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) throws -> HTTPRequest
}

extension SynchronousRequestAdapter {
    /// The adapter itself.
    public var synchronous: (any SynchronousRequestAdapter)? { self }

    /// Passes the result of the synchronous form to `completion`, before it returns.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The context of the request.
    ///   - completion: Receives the adapted request or the error, once.
    public func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { completion(Result { try adapt(request, using: state) }) }
}

/// An adapter that runs after all other adapters, including the request's own: for signers and
/// guards.
public protocol RequestPreparer: RequestAdapter {}

extension RequestAdapter {
    /// `nil`: the adapter may answer later.
    public var synchronous: (any SynchronousRequestAdapter)? { nil }

    /// Returns the request unchanged.
    ///
    /// - Parameters:
    ///   - request: The request, as changed by the adapters before.
    ///   - state: The context of the request.
    public func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState
    ) async throws -> HTTPRequest { request }

    /// Forwards to ``adapt(_:for:completion:)``.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The context of the request.
    ///   - completion: Receives the adapted request or the error, once.
    public func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        RequestAdapterState.$current.withValue(state) {
            adapt(request, for: state.session, completion: completion)
        }
    }

    /// Calls the `async` form in a new task, which is cancelled when the answer is no longer needed.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - session: The session of the request.
    ///   - completion: Receives the adapted request or the error, once.
    public func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        let state =
            RequestAdapterState.current
            ?? RequestAdapterState(requestID: UUID(), session: session)
        InterceptorTask.start {
            do {
                completion(.success(try await adapt(request, using: state)))
            } catch {
                completion(.failure(error))
            }
        }
    }
}

/// The decision of a retrier.
public enum RetryResult: Sendable {
    /// Retries at once.
    case retry
    /// Retries after a delay in seconds.
    case retryWithDelay(TimeInterval)
    /// Does not retry; the next retrier decides. After the last one, the request fails.
    case doNotRetry
    /// Does not retry, and fails the request with `SessionError.requestRetryFailed` around this
    /// error and the original one.
    case doNotRetryWithError(any Error)
}

extension RetryResult {
    /// Whether the request is retried.
    public var retryRequired: Bool {
        switch self {
        case .retry, .retryWithDelay: true
        case .doNotRetry, .doNotRetryWithError: false
        }
    }

    /// The delay before the retry in seconds; `nil` without a delay or a retry.
    public var delay: TimeInterval? {
        guard case .retryWithDelay(let delay) = self else { return nil }
        return delay
    }

    /// The error that replaces the request's; `nil` for none.
    public var error: (any Error)? {
        guard case .doNotRetryWithError(let error) = self else { return nil }
        return error
    }
}

/// Decides whether a failed request is retried.
///
/// Implement either form: the callback, which may be called at any time on any thread, or the
/// `async` one.
public protocol RequestRetrier: InterceptorTiming {
    /// Passes the decision about a retry to `completion`.
    ///
    /// - Parameters:
    ///   - request: The failed request; see its `response`, `error` and `retryCount`.
    ///   - session: The request's session.
    ///   - error: The error of the transfer, of a validator or of a serializer.
    ///   - completion: To be called exactly once, on any thread; further calls are ignored.
    ///
    /// Thread: the session's root queue; with inline delivery, the thread that finishes the
    /// request; after another retrier, the thread on which that retrier calls its completion.
    /// Nothing else of this request runs at the same time.
    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void)

    /// Returns the decision about a retry.
    ///
    /// The default implementation of the callback form calls it.
    ///
    /// - Parameters:
    ///   - request: The failed request; see its `response`, `error` and `retryCount`.
    ///   - session: The request's session.
    ///   - error: The error of the transfer, of a validator or of a serializer.
    func retry(_ request: Request, for session: Session, dueTo error: any Error) async
        -> RetryResult
}

extension RequestRetrier {
    /// Does not retry.
    ///
    /// - Parameters:
    ///   - request: The failed request; see its `response`, `error` and `retryCount`.
    ///   - session: The request's session.
    ///   - error: The error of the transfer, of a validator or of a serializer.
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error
    ) async -> RetryResult { .doNotRetry }

    /// Calls the `async` form in a new task, which is cancelled when the answer is no longer needed.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the transfer, of a validator or of a serializer.
    ///   - completion: Receives the decision, once.
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        InterceptorTask.start { completion(await retry(request, for: session, dueTo: error)) }
    }
}

/// An adapter and a retrier in one type; each part has a default implementation.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

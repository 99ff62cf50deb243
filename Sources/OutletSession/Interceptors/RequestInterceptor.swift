public import FoundationEssentials
public import OutletHTTP

/// What an adapter may want to know about the request it adapts.
public struct RequestAdapterState: Sendable {
    /// The request's own id; the same at every attempt.
    public let requestID: UUID
    /// The session the request belongs to.
    public let session: Session
    /// How many attempts came before this one.
    public let retryCount: Int
    /// The request, where one is being made.
    package let request: Request?

    /// Carries the state past the callback form that has no parameter for it.
    @TaskLocal static var current: RequestAdapterState?

    /// Makes a state.
    public init(requestID: UUID, session: Session, retryCount: Int = 0) {
        self.init(requestID: requestID, session: session, retryCount: retryCount, request: nil)
    }

    init(requestID: UUID, session: Session, retryCount: Int, request: Request?) {
        self.requestID = requestID
        self.session = session
        self.retryCount = retryCount
        self.request = request
    }
}

/// Changes a request before each attempt.
///
/// Writing either form is enough: the callback, which may answer at any time from any thread, or
/// the `async` one.
public protocol RequestAdapter: InterceptorTiming {
    /// Answers with the request to send, or with why it cannot be sent.
    ///
    /// - Parameters:
    ///   - request: The request as it is so far.
    ///   - session: The request's session.
    ///   - completion: To be called exactly once; a second call is ignored.
    ///
    /// Thread: the session's request queue; nothing else of this request runs meanwhile.
    func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void)

    /// As ``adapt(_:for:completion:)``, knowing more; forwards to it unless implemented.
    func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void)

    /// Returns the request to send; used by the callback forms unless they are implemented.
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest

    /// The adapter as one that answers at once; `nil` for those that may take their time.
    var synchronous: (any SynchronousRequestAdapter)? { get }
}

/// An adapter that answers at once, and never blocks.
///
/// A session all of whose adapters are such asks them where the request is set up, without a hop to its
/// request queue.
public protocol SynchronousRequestAdapter: RequestAdapter {
    /// Returns the request to send.
    ///
    /// - Throws: Why it cannot be sent.
    ///
    /// Thread: the one that starts the request, or the session's request queue.
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) throws -> HTTPRequest
}

extension SynchronousRequestAdapter {
    /// Itself.
    public var synchronous: (any SynchronousRequestAdapter)? { self }

    /// Answers with what the synchronous form returns.
    public func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { completion(Result { try adapt(request, using: state) }) }
}

/// An adapter that is asked after all others, those of the request included: one that signs, or guards.
public protocol RequestPreparer: RequestAdapter {}

extension RequestAdapter {
    /// Takes its time.
    public var synchronous: (any SynchronousRequestAdapter)? { nil }

    /// Returns the request unchanged.
    public func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState
    ) async throws -> HTTPRequest { request }

    /// Forwards to ``adapt(_:for:completion:)``.
    public func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        RequestAdapterState.$current.withValue(state) {
            adapt(request, for: state.session, completion: completion)
        }
    }

    /// Asks the `async` form, in a task of its own.
    public func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        let state =
            RequestAdapterState.current
            ?? RequestAdapterState(requestID: UUID(), session: session)
        Task {
            do {
                completion(.success(try await adapt(request, using: state)))
            } catch {
                completion(.failure(error))
            }
        }
    }
}

/// What a retrier decided.
public enum RetryResult: Sendable {
    /// Try again at once.
    case retry
    /// Try again after so many seconds.
    case retryWithDelay(TimeInterval)
    /// Leave the request failed; the next retrier is asked.
    case doNotRetry
    /// Leave the request failed, with this error around the original one.
    case doNotRetryWithError(any Error)
}

extension RetryResult {
    /// Whether the request is tried again.
    public var retryRequired: Bool {
        switch self {
        case .retry, .retryWithDelay: true
        case .doNotRetry, .doNotRetryWithError: false
        }
    }

    /// How long the next try waits, in seconds; `nil` if it does not, or there is none.
    public var delay: TimeInterval? {
        guard case .retryWithDelay(let delay) = self else { return nil }
        return delay
    }

    /// What the request's error is replaced by, if anything.
    public var error: (any Error)? {
        guard case .doNotRetryWithError(let error) = self else { return nil }
        return error
    }
}

/// Decides whether a failed request is tried again.
///
/// Writing either form is enough: the callback, which may answer at any time from any thread, or
/// the `async` one.
public protocol RequestRetrier: InterceptorTiming {
    /// Answers whether to try again.
    ///
    /// - Parameters:
    ///   - request: The failed request; its `response`, `error` and `retryCount` say more.
    ///   - session: The request's session.
    ///   - error: Why it failed: the transfer's error, or a validator's.
    ///   - completion: To be called exactly once; a second call is ignored.
    ///
    /// Thread: where the request is being finished; nothing else of this request runs meanwhile.
    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void)

    /// Returns whether to try again; used by the callback form unless that is implemented.
    func retry(_ request: Request, for session: Session, dueTo error: any Error) async
        -> RetryResult
}

extension RequestRetrier {
    /// Does not retry.
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error
    ) async -> RetryResult { .doNotRetry }

    /// Asks the `async` form, in a task of its own.
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        Task { completion(await retry(request, for: session, dueTo: error)) }
    }
}

/// An adapter and a retrier in one; either part may be left out.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

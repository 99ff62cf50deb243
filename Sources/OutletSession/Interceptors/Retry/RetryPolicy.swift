public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Retries what may well succeed the next time, with growing waits in between.
///
/// A request is retried when its method is among ``retryableHTTPMethods`` and either its status
/// among ``retryableHTTPStatusCodes`` or its error among ``retryableURLErrorCodes``. A status
/// matters only where validation has made an error of it.
open class RetryPolicy: RequestInterceptor, @unchecked Sendable {
    // because it holds constants.

    /// Two retries.
    public static let defaultRetryLimit: UInt = 2
    /// Each wait is twice the one before.
    public static let defaultExponentialBackoffBase: UInt = 2
    /// The first wait, in seconds.
    public static let defaultExponentialBackoffScale: Double = 0.5
    /// Methods that may be repeated without harm (RFC 9110 §9.2.2).
    public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = [
        .delete, .get, .head, .options, .put, .trace,
    ]
    /// Timeout (408) and the server's troubles (500, 502, 503, 504).
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = [408, 500, 502, 503, 504]
    /// Failures that the next attempt may not meet.
    public static let defaultRetryableURLErrorCodes: Set<TransferError.Code> = [
        .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected,
        .badServerResponse, .callIsActive, .cannotConnectToHost, .cannotFindHost,
        .cannotLoadFromNetwork, .dataNotAllowed, .dnsLookupFailed,
        .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete,
        .internationalRoamingOff, .networkConnectionLost, .notConnectedToInternet,
        .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
        .timedOut,
    ]

    /// How many retries a request gets.
    public let retryLimit: UInt
    /// The factor from one wait to the next.
    public var exponentialBackoffBase: UInt { backoff.base }
    /// The first wait, in seconds.
    public var exponentialBackoffScale: Double { backoff.scale }
    /// Which methods may be repeated.
    public let retryableHTTPMethods: Set<HTTPMethod>
    /// Which statuses are worth another attempt.
    public let retryableHTTPStatusCodes: Set<Int>
    /// Which failures of a transfer are worth another attempt.
    public let retryableURLErrorCodes: Set<TransferError.Code>
    /// How the waits grow.
    public let backoff: RetryBackoff
    /// The longest `Retry-After` that is waited for, in seconds; 0 takes no notice of the field.
    ///
    /// A request that is asked to wait longer is not retried.
    public let maximumRetryAfter: TimeInterval
    /// What bounds the retries of many requests together, if anything does.
    public let budget: RetryBudget?

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: How many retries a request gets.
    ///   - exponentialBackoffBase: The factor from one wait to the next; less than 2 counts as 2.
    ///   - exponentialBackoffScale: The first wait, in seconds.
    ///   - retryableHTTPMethods: Which methods may be repeated.
    ///   - retryableHTTPStatusCodes: Which statuses are worth another attempt.
    ///   - retryableURLErrorCodes: Which failures of a transfer are worth another attempt.
    ///   - maximumDelay: The longest wait that growth leads to, in seconds.
    ///   - jitter: How much of the wait is left to chance.
    ///   - maximumRetryAfter: The longest `Retry-After` that is waited for, in seconds.
    ///   - budget: Bounds the retries of many requests together.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<TransferError.Code> =
            RetryPolicy.defaultRetryableURLErrorCodes,
        maximumDelay: TimeInterval = .infinity,
        jitter: RetryBackoff.Jitter = .none,
        maximumRetryAfter: TimeInterval = 60,
        budget: RetryBudget? = nil
    ) {
        self.retryLimit = retryLimit
        self.retryableHTTPMethods = retryableHTTPMethods
        self.retryableHTTPStatusCodes = retryableHTTPStatusCodes
        self.retryableURLErrorCodes = retryableURLErrorCodes
        self.maximumRetryAfter = maximumRetryAfter
        self.budget = budget
        backoff = RetryBackoff(
            base: exponentialBackoffBase, scale: exponentialBackoffScale,
            maximumDelay: maximumDelay, jitter: jitter)
    }

    /// Retries after the wait that is due, as long as ``shouldRetry(request:dueTo:)`` says so.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard request.retryCount < retryLimit, shouldRetry(request: request, dueTo: error),
            let delay = delay(before: request), budget?.withdraw() != false
        else {
            completion(.doNotRetry)
            return
        }
        completion(.retryWithDelay(delay))
    }

    /// Whether another attempt may succeed, whatever the count.
    ///
    /// Thread: where the request is being finished.
    open func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        guard let method = request.request?.method, retryableHTTPMethods.contains(method) else {
            return false
        }
        if let status = request.response?.statusCode, retryableHTTPStatusCodes.contains(status) {
            return true
        }
        let failure = error as? TransferError ?? error.asSessionError?.transferError
        return failure.map { retryableURLErrorCodes.contains($0.code) } ?? false
    }

    /// The wait before the next attempt, in seconds; `nil` if the server wants too long a one.
    private func delay(before request: Request) -> TimeInterval? {
        if maximumRetryAfter > 0, let response = request.response,
            let wanted = RetryAfter.delay(in: response, now: Date())
        {
            return wanted <= maximumRetryAfter ? wanted : nil
        }
        var generator = SystemRandomNumberGenerator()
        return backoff.delay(retryCount: request.retryCount, using: &generator)
    }

    /// Counts the request for the budget, and changes nothing.
    open func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        if state.retryCount == 0 { budget?.deposit() }
        completion(.success(request))
    }

    /// Changes nothing.
    open func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { completion(.success(request)) }
}

extension RetryPolicy: IdleAdapter {
    package var adaptsNothing: Bool { budget == nil }
}

/// Retries only when a connection that stood was lost.
open class ConnectionLostRetryPolicy: RetryPolicy, @unchecked Sendable {
    // because it adds no stored property.

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: How many retries a request gets.
    ///   - exponentialBackoffBase: The factor from one wait to the next; less than 2 counts as 2.
    ///   - exponentialBackoffScale: The first wait, in seconds.
    ///   - retryableHTTPMethods: Which methods may be repeated.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) {
        super.init(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods, retryableHTTPStatusCodes: [],
            retryableURLErrorCodes: [.networkConnectionLost])
    }
}

extension RequestInterceptor where Self == RetryPolicy {
    /// The usual policy.
    public static var retryPolicy: RetryPolicy { RetryPolicy() }

    /// A policy; for the parameters see ``RetryPolicy``.
    public static func retryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<TransferError.Code> =
            RetryPolicy.defaultRetryableURLErrorCodes,
        maximumDelay: TimeInterval = .infinity,
        jitter: RetryBackoff.Jitter = .none,
        maximumRetryAfter: TimeInterval = 60,
        budget: RetryBudget? = nil
    ) -> RetryPolicy {
        RetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes,
            retryableURLErrorCodes: retryableURLErrorCodes, maximumDelay: maximumDelay,
            jitter: jitter, maximumRetryAfter: maximumRetryAfter, budget: budget)
    }
}

extension RequestInterceptor where Self == ConnectionLostRetryPolicy {
    /// Retries only when a connection that stood was lost.
    public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy {
        ConnectionLostRetryPolicy()
    }

    /// Retries only when a connection that stood was lost; for the parameters see
    /// ``ConnectionLostRetryPolicy``.
    public static func connectionLostRetryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) -> ConnectionLostRetryPolicy {
        ConnectionLostRetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods)
    }
}

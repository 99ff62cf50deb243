public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Retries requests whose failure may be temporary, with growing delays.
///
/// A request is retried if its method is among ``retryableHTTPMethods``, and either its status is
/// among ``retryableHTTPStatusCodes`` or its error among ``retryableURLErrorCodes``. A status alone
/// is no failure: validate the request.
open class RetryPolicy: RequestInterceptor, @unchecked Sendable {
    // because it holds constants.

    /// The default of ``retryLimit``.
    public static let defaultRetryLimit: UInt = 2
    /// The default of ``exponentialBackoffBase``.
    public static let defaultExponentialBackoffBase: UInt = 2
    /// The default of ``exponentialBackoffScale``, in seconds.
    public static let defaultExponentialBackoffScale: Double = 0.5
    /// The idempotent methods (RFC 9110 §9.2.2).
    public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = [
        .delete, .get, .head, .options, .put, .trace,
    ]
    /// Timeout (408) and errors of servers and gateways (500, 502, 503, 504).
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = [408, 500, 502, 503, 504]
    /// Failures of a transfer that may be temporary.
    public static let defaultRetryableURLErrorCodes: Set<TransferError.Code> = [
        .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected,
        .badServerResponse, .callIsActive, .cannotConnectToHost, .cannotFindHost,
        .cannotLoadFromNetwork, .dataNotAllowed, .dnsLookupFailed,
        .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete,
        .internationalRoamingOff, .networkConnectionLost, .notConnectedToInternet,
        .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
        .timedOut,
    ]

    /// The maximum number of retries of a request.
    public let retryLimit: UInt
    /// The factor from one delay to the next.
    public var exponentialBackoffBase: UInt { backoff.base }
    /// The first delay in seconds.
    public var exponentialBackoffScale: Double { backoff.scale }
    /// The methods that are retried.
    public let retryableHTTPMethods: Set<HTTPMethod>
    /// The statuses that are retried.
    public let retryableHTTPStatusCodes: Set<Int>
    /// The failures of a transfer that are retried.
    public let retryableURLErrorCodes: Set<TransferError.Code>
    /// Computes the delays.
    public let backoff: RetryBackoff
    /// The longest accepted `Retry-After` in seconds; 0 ignores the field.
    ///
    /// A request whose response has a longer one is not retried.
    public let maximumRetryAfter: TimeInterval
    /// Limits the retries of all requests together; `nil` for no limit.
    public let budget: RetryBudget?

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - exponentialBackoffBase: The factor from one delay to the next; less than 2 counts as 2.
    ///   - exponentialBackoffScale: The first delay in seconds.
    ///   - retryableHTTPMethods: The methods that are retried.
    ///   - retryableHTTPStatusCodes: The statuses that are retried.
    ///   - retryableURLErrorCodes: The failures of a transfer that are retried.
    ///   - maximumDelay: The longest delay in seconds, except for `Retry-After`.
    ///   - jitter: The random part of the delay.
    ///   - maximumRetryAfter: The longest accepted `Retry-After` in seconds; 0 ignores the field.
    ///   - budget: Limits the retries of all requests together; `nil` for no limit.
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

    /// Retries after a delay if ``shouldRetry(request:dueTo:)`` is `true` and no limit is reached.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the transfer, of a validator or of a serializer.
    ///   - completion: Receives the decision, once.
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

    /// Returns whether another attempt may succeed, regardless of the number of retries.
    ///
    /// `false` for an error with which a retrier has ended the request
    /// (``SessionError/requestRetryFailed(retryError:originalError:)``).
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - error: The error of the transfer, of a validator or of a serializer.
    ///
    /// Thread: as for ``RequestRetrier/retry(_:for:dueTo:completion:)``.
    open func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        guard let method = request.request?.method, retryableHTTPMethods.contains(method) else {
            return false
        }
        if case .requestRetryFailed? = error.asSessionError { return false }
        if let status = request.response?.statusCode, retryableHTTPStatusCodes.contains(status) {
            return true
        }
        let failure = error as? TransferError ?? error.asSessionError?.transferError
        return failure.map { retryableURLErrorCodes.contains($0.code) } ?? false
    }

    /// The delay before the next attempt in seconds; `nil` if `Retry-After` is too long.
    private func delay(before request: Request) -> TimeInterval? {
        if maximumRetryAfter > 0, let response = request.response,
            let wanted = RetryAfter.delay(in: response, now: Date())
        {
            return wanted <= maximumRetryAfter ? wanted : nil
        }
        var generator = SystemRandomNumberGenerator()
        return backoff.delay(retryCount: request.retryCount, using: &generator)
    }

    /// Counts the request for ``budget``, and returns it unchanged.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The context of the request.
    ///   - completion: Receives the adapted request or the error, once.
    open func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        if state.retryCount == 0 { budget?.deposit() }
        completion(.success(request))
    }

    /// Returns the request unchanged.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - session: The session of the request.
    ///   - completion: Receives the adapted request or the error, once.
    open func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { completion(.success(request)) }
}

extension RetryPolicy: IdleAdapter {
    package var adaptsNothing: Bool { budget == nil }
}

/// Retries only when an established connection was lost.
open class ConnectionLostRetryPolicy: RetryPolicy, @unchecked Sendable {
    // because it adds no stored property.

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - exponentialBackoffBase: The factor from one delay to the next; less than 2 counts as 2.
    ///   - exponentialBackoffScale: The first delay in seconds.
    ///   - retryableHTTPMethods: The methods that are retried.
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
    /// The policy with the default settings.
    public static var retryPolicy: RetryPolicy { RetryPolicy() }

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - exponentialBackoffBase: The factor from one delay to the next; less than 2 counts as 2.
    ///   - exponentialBackoffScale: The first delay in seconds.
    ///   - retryableHTTPMethods: The methods that are retried.
    ///   - retryableHTTPStatusCodes: The statuses that are retried.
    ///   - retryableURLErrorCodes: The failures of a transfer that are retried.
    ///   - maximumDelay: The longest delay in seconds, except for `Retry-After`.
    ///   - jitter: The random part of the delay.
    ///   - maximumRetryAfter: The longest accepted `Retry-After` in seconds; 0 ignores the field.
    ///   - budget: Limits the retries of all requests together; `nil` for no limit.
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
    /// Retries only when an established connection was lost, with the default settings.
    public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy {
        ConnectionLostRetryPolicy()
    }

    /// Retries only when an established connection was lost.
    ///
    /// - Parameters:
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - exponentialBackoffBase: The factor from one delay to the next; less than 2 counts as 2.
    ///   - exponentialBackoffScale: The first delay in seconds.
    ///   - retryableHTTPMethods: The methods that are retried.
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

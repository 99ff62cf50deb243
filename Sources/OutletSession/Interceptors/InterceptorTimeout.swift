public import FoundationEssentials

/// How long an adapter or a retrier may take, where that is not the session's setting.
public protocol InterceptorTiming: Sendable {
    /// How long to wait for an answer, in seconds; 0 means no limit, `nil` the session's
    /// ``SessionConfiguration/interceptorTimeout``.
    ///
    /// Thread: any.
    var answerTimeout: TimeInterval? { get }
}

extension InterceptorTiming {
    /// The session's setting.
    public var answerTimeout: TimeInterval? { nil }
}

/// An adapter, a retrier or a redirect handler gave no answer in time.
///
/// Inside ``SessionError/requestAdaptationFailed(error:)`` for an adapter, as the retry error of
/// ``SessionError/requestRetryFailed(retryError:originalError:)`` for a retrier, inside
/// ``SessionError/sessionTaskFailed(error:)`` for a redirect handler.
public struct InterceptorTimeoutError: Error, Sendable, Equatable {
    /// What was being asked of the interceptor.
    public enum Role: String, Sendable {
        /// To adapt a request.
        case adapter
        /// To decide about a retry.
        case retrier
        /// To decide about a redirect.
        case redirectHandler = "redirect handler"
        /// To refresh a credential.
        case authenticator
    }

    /// What was being asked.
    public let role: Role
    /// The type of whom was asked.
    public let interceptor: String
    /// How long it had, in seconds.
    public let timeout: TimeInterval

    /// Makes an error.
    public init(role: Role, interceptor: String, timeout: TimeInterval) {
        self.role = role
        self.interceptor = interceptor
        self.timeout = timeout
    }
}

extension InterceptorTimeoutError: CustomStringConvertible {
    /// Who did not answer, and how long it had.
    public var description: String {
        "\(role.rawValue) \(interceptor): gave no answer: waited \(timeout) s"
            + " (it must call its completion; see interceptorTimeout)"
    }
}

public import FoundationEssentials

/// The time limit of an adapter or a retrier, if it differs from the session's.
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

/// An adapter, a retrier, a redirect handler or an authenticator did not answer in time.
///
/// For an adapter it is inside ``SessionError/requestAdaptationFailed(error:)``, for a redirect
/// handler inside ``SessionError/sessionTaskFailed(error:)``. For a retrier it is the retry error
/// of ``SessionError/requestRetryFailed(retryError:originalError:)``. For an authenticator it is the
/// error of the refresh: requests that wait to be sent fail as for an adapter, requests that wait
/// for a retry as for a retrier.
public struct InterceptorTimeoutError: Error, Sendable, Equatable {
    /// The kind of answer that was waited for.
    public enum Role: String, Sendable {
        /// An adapted request.
        case adapter
        /// A decision about a retry.
        case retrier
        /// A decision about a redirect.
        case redirectHandler = "redirect handler"
        /// A refreshed credential.
        case authenticator
    }

    /// The kind of answer that was waited for.
    public let role: Role
    /// The name of the type that did not answer.
    public let interceptor: String
    /// The time limit in seconds.
    public let timeout: TimeInterval

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - role: The kind of answer that was waited for.
    ///   - interceptor: The name of the type that did not answer.
    ///   - timeout: The time limit in seconds.
    public init(role: Role, interceptor: String, timeout: TimeInterval) {
        self.role = role
        self.interceptor = interceptor
        self.timeout = timeout
    }
}

extension InterceptorTimeoutError: CustomStringConvertible {
    /// The type that did not answer, and the time limit.
    public var description: String {
        "\(role.rawValue) \(interceptor): gave no answer: waited \(timeout) s"
            + " (it must call its completion; see \(role.limitName))"
    }
}

extension InterceptorTimeoutError.Role {
    /// The setting that limits the wait.
    fileprivate var limitName: String {
        switch self {
        case .adapter, .retrier, .redirectHandler: "interceptorTimeout"
        case .authenticator: "refreshTimeout"
        }
    }
}

import Dispatch
public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// Adds a credential to requests, and refreshes it when it expires or a server refuses it.
///
/// If several requests are refused at the same time, the credential is refreshed once, and all of
/// them are retried with the new one. While an expired credential is being refreshed, new requests
/// wait.
///
/// Thread: any. The authenticator is never called while a lock is held.
public final class AuthenticationInterceptor<AuthenticatorType: Authenticator>: RequestInterceptor {
    /// The type of the credential.
    public typealias Credential = AuthenticatorType.Credential

    /// Limits refreshes, for servers that refuse every new credential.
    public struct RefreshWindow: Sendable, Equatable {
        /// The length of the window, in seconds of uptime.
        public let interval: TimeInterval
        /// The maximum number of refreshes that begin within ``interval``.
        public let maximumAttempts: Int

        /// Makes a window.
        ///
        /// - Parameters:
        ///   - interval: The length of the window, in seconds of uptime.
        ///   - maximumAttempts: The maximum number of refreshes that begin within it.
        public init(interval: TimeInterval = 30, maximumAttempts: Int = 5) {
            self.interval = interval
            self.maximumAttempts = maximumAttempts
        }
    }

    private struct DeferredAdapt: Sendable {
        let request: HTTPRequest
        /// A waiting request does not keep its session alive.
        weak var session: Session?
        let completion: @Sendable (Result<HTTPRequest, any Error>) -> Void
    }
    private typealias DeferredRetry = @Sendable (RetryResult) -> Void
    private typealias Machine = AuthenticationMachine<Credential, DeferredAdapt, DeferredRetry>

    private let authenticator: AuthenticatorType
    private let refreshTimeout: TimeInterval
    private let machine: Lock<Machine>
    /// Where the authenticator refreshes.
    private let queue = DispatchQueue(label: "outlet.authentication.inspector")
    /// Where waiting requests go on: another queue, because a refresh may block.
    private let waiterQueue = DispatchQueue(label: "outlet.authentication.waiters")
    /// Not those of a session, because the interceptor may outlive the session whose request began
    /// a refresh.
    private let deadlines = Deadlines()

    /// Makes an interceptor.
    ///
    /// - Parameters:
    ///   - authenticator: Applies and refreshes the credential.
    ///   - credential: The first credential; while it is `nil`, requests fail with
    ///     ``AuthenticationError/missingCredential``.
    ///   - refreshWindow: Limits refreshes; `nil` for no limit.
    ///   - refreshTimeout: The time limit of a refresh, in seconds; 0 means no limit.
    public init(
        authenticator: AuthenticatorType, credential: Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow(), refreshTimeout: TimeInterval = 60
    ) {
        self.authenticator = authenticator
        self.refreshTimeout = refreshTimeout
        machine = Lock(
            Machine(
                credential: credential,
                limit: refreshWindow.map {
                    Machine.Limit(interval: $0.interval, attempts: $0.maximumAttempts)
                }))
    }

    /// The current credential.
    ///
    /// Setting it resets a failed refresh and resumes all waiting requests. The result of a refresh
    /// in progress is then ignored.
    public var credential: Credential? {
        get { machine.withLock { $0.credential } }
        set {
            let settlement = machine.withLock { $0.set(newValue) }
            settle(settlement)
        }
    }

    /// 0, no limit: a refresh has its own time limit, and all waits end with the refresh.
    public var answerTimeout: TimeInterval? { 0 }

    /// Applies the credential, at once or after a refresh.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - session: The session of the request.
    ///   - completion: Receives the adapted request or the error, once.
    public func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        let waiter = DeferredAdapt(request: request, session: session, completion: completion)
        while true {
            let (credential, seen) = machine.withLock { ($0.credential, $0.version) }
            // The credential is the user's code, which must not run under the lock.
            let requiresRefresh = credential?.requiresRefresh == true
            let action = machine.withLock {
                $0.adapt(waiter, seen: seen, requiresRefresh: requiresRefresh, now: Self.now())
            }
            switch action {
            case .lookAgain: continue
            case .apply(let credential):
                var authenticated = request
                authenticator.apply(credential, to: &authenticated)
                completion(.success(authenticated))
            case .fail(let error): completion(.failure(error))
            case .wait(let refresh): if let refresh { begin(refresh, for: session) }
            case .settle(let settlement): settle(settlement)
            }
            return
        }
    }

    /// Refreshes the credential if the server has refused it, and retries the request.
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
        guard let sent = request.request, let response = request.response,
            authenticator.didRequest(sent, with: response, failDueToAuthenticationError: error)
        else {
            completion(.doNotRetry)
            return
        }
        let (credential, seen) = machine.withLock { ($0.credential, $0.version) }
        guard let credential else {
            completion(.doNotRetryWithError(AuthenticationError.missingCredential))
            return
        }
        guard authenticator.isRequest(sent, authenticatedWith: credential) else {
            completion(.retry)
            return
        }
        // Another origin, to which a redirect led, has not refused a credential that it never got.
        if let last = request.performedRequests.last, !Self.haveSameOrigin(last, sent),
            !authenticator.isRequest(last, authenticatedWith: credential)
        {
            completion(.doNotRetry)
            return
        }
        let action = machine.withLock { $0.retry(completion, seen: seen, now: Self.now()) }
        switch action {
        case .retry: completion(.retry)
        case .fail(let error): completion(.doNotRetryWithError(error))
        case .wait(let refresh): if let refresh { begin(refresh, for: session) }
        case .settle(let settlement): settle(settlement)
        }
    }

    // MARK: Refreshing

    private func begin(_ refresh: Machine.Refresh, for session: Session) {
        let wait = Wait<Result<Credential, any Error>>(deadlines) { result in
            let settlement = self.machine.withLock {
                $0.didRefresh(id: refresh.id, result: result)
            }
            if let settlement { self.settle(settlement) }
        }
        let timeout = refreshTimeout
        wait.begin(for: timeout) {
            .failure(
                InterceptorTimeoutError(
                    role: .authenticator, interceptor: "\(AuthenticatorType.self)",
                    timeout: timeout))
        }
        queue.async {
            self.authenticator.refresh(refresh.credential, for: session) { wait.answer($0) }
        }
    }

    private func settle(_ settlement: Machine.Settlement) {
        guard !settlement.adapts.isEmpty || !settlement.retries.isEmpty else { return }
        // Not inside a call of the authenticator or the user.
        waiterQueue.async {
            for waiter in settlement.adapts {
                if let error = settlement.error {
                    waiter.completion(.failure(error))
                } else if let session = waiter.session {
                    self.adapt(waiter.request, for: session, completion: waiter.completion)
                } else {
                    waiter.completion(.failure(SessionError.sessionDeinitialized))
                }
            }
            for retry in settlement.retries {
                retry(settlement.error.map(RetryResult.doNotRetryWithError) ?? .retry)
            }
        }
    }

    private static func haveSameOrigin(_ a: HTTPRequest, _ b: HTTPRequest) -> Bool {
        guard let a = a.url, let b = b.url else { return false }
        return (try? Origin(a) == Origin(b)) == true
    }

    private static func now() -> Double {
        Double(DispatchTime.now().uptimeNanoseconds) / 1_000_000_000
    }
}

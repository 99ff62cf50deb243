import OutletTransport

/// The state of a credential and of the requests that wait for a new one, as a value without lock
/// and clock.
///
/// `Adapt` and `Retry` are what the owner needs to continue a waiting request.
struct AuthenticationMachine<Credential: Sendable, Adapt: Sendable, Retry: Sendable>: Sendable {
    /// The limit of refreshes; see ``AuthenticationInterceptor/RefreshWindow``.
    struct Limit: Equatable, Sendable {
        let interval: Double
        let attempts: Int
    }

    private enum Phase: Sendable {
        case idle
        /// A refresh before the credential is used (`isProactive`), or after a server refused it.
        case refreshing(id: UInt64, isProactive: Bool)
        /// Retries fail with this error until a credential is set or a new request is adapted.
        case failed(any Error)
    }

    /// The action for a request that is about to be sent.
    enum AdaptAction: Sendable {
        case apply(Credential)
        case fail(any Error)
        /// The request waits; the refresh must be started if it is not `nil`.
        case wait(Refresh?)
        /// Another credential was set since the caller read it; the caller must start over.
        case lookAgain
        /// The limit of refreshes is reached; the waiting requests get the error.
        case settle(Settlement)
    }

    /// The action for a request that a server refused.
    enum RetryAction: Sendable {
        case retry
        case fail(any Error)
        /// The request waits; the refresh must be started if it is not `nil`.
        case wait(Refresh?)
        /// The limit of refreshes is reached; the waiting requests get the error.
        case settle(Settlement)
    }

    /// A refresh to start; its result must be reported with its id.
    struct Refresh: Sendable {
        let id: UInt64
        let credential: Credential
    }

    /// The requests that waited, and the error if there is no new credential.
    struct Settlement: Sendable {
        let adapts: [Adapt]
        let retries: [Retry]
        let error: (any Error)?
    }

    private(set) var credential: Credential?
    /// The number of credentials so far; detects that another one was set.
    private(set) var version: UInt64 = 0
    private var phase = Phase.idle
    private var adapts: [Adapt] = []
    private var retries: [Retry] = []
    private var lastRefresh: UInt64 = 0
    /// The times at which refreshes began, within the window.
    private(set) var refreshTimes: [Double] = []
    private let limit: Limit?

    init(credential: Credential?, limit: Limit?) {
        self.credential = credential
        self.limit = limit
    }

    /// Sets a credential: waiting requests use it, and the result of an active refresh is ignored.
    mutating func set(_ credential: Credential?) -> Settlement {
        self.credential = credential
        version += 1
        phase = .idle
        return settle(nil)
    }

    /// A request is about to be sent.
    ///
    /// - Parameters:
    ///   - waiter: Kept if the request must wait.
    ///   - seen: The version of the credential that the caller read.
    ///   - requiresRefresh: Whether that credential must be refreshed.
    ///   - now: Uptime in seconds.
    mutating func adapt(
        _ waiter: Adapt, seen: UInt64, requiresRefresh: Bool, now: Double
    ) -> AdaptAction {
        if case .refreshing(_, isProactive: true) = phase {
            adapts.append(waiter)
            return .wait(nil)
        }
        guard let credential else { return .fail(AuthenticationError.missingCredential) }
        guard seen == version else { return .lookAgain }
        if case .refreshing = phase { return .apply(credential) }
        guard requiresRefresh else {
            phase = .idle
            return .apply(credential)
        }
        adapts.append(waiter)
        guard let refresh = beginRefresh(of: credential, isProactive: true, now: now) else {
            return .settle(settle(AuthenticationError.excessiveRefresh))
        }
        return .wait(refresh)
    }

    /// A server refused a request that carried the credential of version `seen`.
    mutating func retry(_ waiter: Retry, seen: UInt64, now: Double) -> RetryAction {
        guard let credential else { return .fail(AuthenticationError.missingCredential) }
        guard seen == version else { return .retry }
        switch phase {
        case .failed(let error): return .fail(error)
        case .refreshing:
            retries.append(waiter)
            return .wait(nil)
        case .idle:
            retries.append(waiter)
            guard let refresh = beginRefresh(of: credential, isProactive: false, now: now) else {
                return .settle(settle(AuthenticationError.excessiveRefresh))
            }
            return .wait(refresh)
        }
    }

    /// A refresh has ended.
    ///
    /// - Returns: The waiting requests; `nil` if that refresh is no longer the active one.
    mutating func didRefresh(
        id: UInt64, result: Result<Credential, any Error>
    ) -> Settlement? {
        guard case .refreshing(id, _) = phase else { return nil }
        switch result {
        case .success(let credential): return set(credential)
        case .failure(let error):
            phase = .failed(error)
            return settle(error)
        }
    }

    /// Begins a refresh; `nil` if the limit is reached, which is a failure.
    private mutating func beginRefresh(
        of credential: Credential, isProactive: Bool, now: Double
    ) -> Refresh? {
        if let limit {
            refreshTimes.removeAll { $0 <= now - limit.interval }
            guard refreshTimes.count < limit.attempts else {
                phase = .failed(AuthenticationError.excessiveRefresh)
                return nil
            }
            refreshTimes.append(now)
        }
        lastRefresh += 1
        phase = .refreshing(id: lastRefresh, isProactive: isProactive)
        return Refresh(id: lastRefresh, credential: credential)
    }

    private mutating func settle(_ error: (any Error)?) -> Settlement {
        defer {
            adapts = []
            retries = []
        }
        return Settlement(adapts: adapts, retries: retries, error: error)
    }
}
